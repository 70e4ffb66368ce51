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
      if (data.module) {
        const instance = await WebAssembly.instantiate(data.module, {});
        exports = instance.exports;
        await useFma();
        self.postMessage({ ready: true });
        return;
      }
      try {
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

  let compiled = null;
  function compile() {
    compiled ??= (async () => {
      const binary = atob(fourLevels.module);
      fourLevels.module = null;
      const bytes = new Uint8Array(binary.length);
      for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
      return WebAssembly.compile(bytes);
    })();
    return compiled;
  }

  /** Makes a device with its own state, such as a network that it trains. */
  fourLevels.device = () => {
    let running = null;
    const waiting = new Map();
    let count = 0;

    function end(why) {
      running?.then((worker) => worker.terminate(), () => {});
      running = null;
      for (const { reject } of waiting.values()) reject(new Error(why));
      waiting.clear();
    }

    function start() {
      running ??= (async () => {
        const module = await compile();
        const address = URL.createObjectURL(new Blob([`(${worker})()`], { type: "text/javascript" }));
        const made = new Worker(address);
        URL.revokeObjectURL(address);
        await new Promise((resolve, reject) => {
          made.onmessage = resolve;
          made.onerror = (event) => reject(new Error(event.message ?? "the browser can't start a worker"));
          made.postMessage({ module });
        });
        made.onmessage = ({ data }) => {
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
        };
        return made;
      })();
      return running;
    }

    return {
      /** Sends a request. A refusal is thrown as an error. */
      async ask(request) {
        const worker = await start();
        const number = ++count;
        return new Promise((resolve, reject) => {
          waiting.set(number, { resolve, reject });
          worker.postMessage({ number, request: JSON.stringify(request) });
        });
      },
      /** Whether a request is in flight. */
      busy: () => waiting.size > 0,
      /** Stops the running request. */
      stop: () => end("stopped"),
    };
  };

  let common = null;
  /** The device shared by all kernels of a page: each request contains all its data. */
  fourLevels.common = () => (common ??= fourLevels.device());
})();
