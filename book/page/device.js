// The emulated GPU, in a worker of its own: the page stays alive whatever a kernel does, and ends it by
// ending the worker. What the worker compiled once, the next one gets as it is.
"use strict";

(() => {
  /** Runs in the worker: a request in, an answer out. It is made into a text, and names nothing from outside. */
  function worker() {
    let exports = null;
    const encoder = new TextEncoder();
    const decoder = new TextDecoder();
    /** Has a second module multiply and add, where the browser knows its instruction: it is that much faster. */
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
        if (address === 0) throw new Error("there is no memory left for so long a text");
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

  /** A device of its own: what it knows, such as a network that it trains, nobody else does. */
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
          made.onerror = (event) => reject(new Error(event.message ?? "no worker can be started"));
          made.postMessage({ module });
        });
        made.onmessage = ({ data }) => {
          const asked = waiting.get(data.number);
          if (!asked) return;
          waiting.delete(data.number);
          if (data.broken !== undefined) {
            // A trap leaves the module as it was in the middle of something: it is not used again.
            end("the device was begun anew");
            asked.reject(new Error(`the emulator gave up (${data.broken}): most likely the page has no more memory for it`));
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
      /** Asks for something; a refusal is an error. */
      async ask(request) {
        const worker = await start();
        const number = ++count;
        return new Promise((resolve, reject) => {
          waiting.set(number, { resolve, reject });
          worker.postMessage({ number, request: JSON.stringify(request) });
        });
      },
      /** Whether something is asked and not answered. */
      busy: () => waiting.size > 0,
      /** Ends whatever runs. */
      stop: () => end("stopped"),
    };
  };

  let common = null;
  /** The one of all kernels of a page: each request brings everything that it is about. */
  fourLevels.common = () => (common ??= fourLevels.device());
})();
