// The emulated GPU, in a separate worker, so that no kernel can block the page: to stop a kernel, the page ends the worker.
// The compiled module is kept and passed to the next worker.
"use strict";

(() => {
  /** The worker's code, which answers requests. It is converted to text, so it can't refer to names of this file. */
  function worker() {
    let exports = null;
    const encoder = new TextEncoder();
    const decoder = new TextDecoder();
    /** Loads a second module for fused multiply-add if the browser supports its instruction, which is much faster. */
    async function useFma() {
      const at = exports.fma_module();
      const bytes = new Uint8Array(exports.memory.buffer, at, exports.fma_module_len()).slice();
      if (!WebAssembly.validate(bytes)) return;
      const { instance } = await WebAssembly.instantiate(bytes, { emulator: { memory: exports.memory } });
      exports.__indirect_function_table.set(exports.fma_slot(), instance.exports.fma);
      exports.use_fma();
    }

    self.onmessage = async ({ data }) => {
      try {
        if (data.module) {
          const instance = await WebAssembly.instantiate(data.module, {});
          exports = instance.exports;
          await useFma();
          self.postMessage({ ready: true });
          return;
        }
        const request = encoder.encode(data.request);
        const address = exports.room(request.length);
        if (address === 0) throw new Error("out of memory: the text is too long");
        new Uint8Array(exports.memory.buffer).set(request, address);
        const at = exports.answer();
        const bytes = new Uint8Array(exports.memory.buffer, at, exports.answer_len());
        self.postMessage({ number: data.number, answer: decoder.decode(bytes) });
      } catch (error) {
        self.postMessage({ number: data.number, broken: String(error.message ?? error) });
      }
    };
  }

  /** A module with one vector instruction, to ask whether the browser has them. */
  const VECTORS = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11]);

  /** The first byte of a file in the format of gzip. */
  const GZIP = 0x1f;

  /** Loads and compiles the emulator. A page from a server compiles it while it arrives; a page from a folder may only load scripts. */
  async function loaded(progress) {
    if (location.protocol === "file:") {
      await fourLevels.load("module.js");
      return WebAssembly.compile(Uint8Array.from(atob(fourLevels.module), (character) => character.charCodeAt(0)));
    }
    // Compressed when the book is built, because not every server compresses.
    const response = await fetch(fourLevels.beside("module.wasm.gz"));
    if (!response.ok) throw new Error(`module.wasm.gz can't be loaded (status ${response.status})`);
    const megabytes = (length) => (length / 1e6).toFixed(1);
    const whole = Number(response.headers.get("content-length")) || fourLevels.built.moduleBytes;
    let length = 0;
    const counted = response.body.pipeThrough(new TransformStream({
      transform(part, controller) {
        length += part.length;
        progress(`loading the emulator: ${megabytes(length)} of ${megabytes(whole)} MB`);
        controller.enqueue(part);
      },
    }));
    // A server may have unpacked it on the way.
    const [copy, body] = counted.tee();
    const reader = copy.getReader();
    const packed = (await reader.read()).value?.[0] === GZIP;
    reader.cancel();
    const bytes = packed ? body.pipeThrough(new DecompressionStream("gzip")) : body;
    return WebAssembly.compileStreaming(new Response(bytes, { headers: { "Content-Type": "application/wasm" } }));
  }

  let compiled = null;
  /** Functions that are called with the progress. */
  const listeners = new Set();
  /** Loads and compiles the emulator, once; if that failed, again. */
  fourLevels.compile = (progress) => {
    if (progress) listeners.add(progress);
    compiled ??= (async () => {
      if (typeof WebAssembly !== "object") throw new Error("this browser has WebAssembly switched off, which the emulator needs");
      if (!WebAssembly.validate(VECTORS)) throw new Error("this browser has no vector instructions in WebAssembly, which the emulator needs; use a newer one");
      const module = await loaded((text) => listeners.forEach((listener) => listener(text)));
      listeners.clear();
      fourLevels.module = null;
      return module;
    })().catch((error) => {
      compiled = null;
      fourLevels.forget("module.js");
      throw error;
    });
    return compiled;
  };

  /** Makes a device with its own state, such as a network that it trains. */
  fourLevels.device = () => {
    let running = null;
    const waiting = new Map();
    let count = 0;

    /** Ends the worker, and with it all requests, with a reason. */
    function end(why) {
      running?.end(new Error(why));
      running = null;
      for (const { reject } of waiting.values()) reject(new Error(why));
      waiting.clear();
    }

    function answer({ data }) {
      const asked = waiting.get(data.number);
      if (!asked) return;
      waiting.delete(data.number);
      if (data.broken !== undefined) {
        // A trap leaves the module in an inconsistent state, so it is not used again.
        end("the device was restarted");
        asked.reject(new Error(`the emulator stopped (${data.broken}): most likely it is out of memory`));
        return;
      }
      const answer = JSON.parse(data.answer);
      if (answer.refused !== undefined) asked.reject(new Error(answer.refused));
      else asked.resolve(answer);
    }

    /** The worker that runs or starts: `ready` is the worker, and `end` stops it, even while it starts. */
    function start() {
      if (running) return running;
      const made = { worker: null, ready: null, end: null };
      running = made;
      const ended = new Promise((_, reject) => {
        made.end = (error) => {
          made.worker?.terminate();
          reject(error);
        };
      });
      const started = (async () => {
        const module = await fourLevels.compile();
        if (running !== made) throw new Error("stopped");
        const address = URL.createObjectURL(new Blob([`(${worker})()`], { type: "text/javascript" }));
        const own = new Worker(address);
        URL.revokeObjectURL(address);
        made.worker = own;
        await new Promise((resolve, reject) => {
          own.onmessage = ({ data }) => (data.ready ? resolve() : reject(new Error(`the emulator doesn't start: ${data.broken}`)));
          own.onerror = (event) => reject(new Error(event.message ?? "the browser can't start a worker"));
          own.postMessage({ module });
        });
        own.onmessage = answer;
        own.onerror = (event) => { if (running === made) end(`the emulator stopped (${event.message ?? "without a reason"}); run it again`); };
        return own;
      })();
      made.ready = Promise.race([started, ended]).catch((error) => {
        made.worker?.terminate();
        if (running === made) running = null;
        throw error;
      });
      return made;
    }

    return {
      /** Sends a request. A refusal is thrown as an error. */
      async ask(request) {
        const worker = await start().ready;
        const number = ++count;
        return new Promise((resolve, reject) => {
          waiting.set(number, { resolve, reject });
          worker.postMessage({ number, request: JSON.stringify(request) });
        });
      },
      /** Stops the running request. */
      stop: () => end("stopped"),
    };
  };

  let common = null;
  /** The device shared by all kernels of a page: each request contains all its data. */
  fourLevels.common = () => (common ??= fourLevels.device());
})();
