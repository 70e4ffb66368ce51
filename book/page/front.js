// The front door: a kernel runs on 32 lanes, one instruction after the other, and next to it a network trains.
"use strict";

(() => {
  const { element } = fourLevels;
  const FILE = "book/kernels/saxpy.cu";
  const LAUNCH = `run ${FILE} --arg u32:20 --arg f32:2 --arg f32[32]:iota --arg f32[32]:1`;
  const LANES = 32;
  /** Milliseconds for which an instruction is shown. */
  const PAUSE = 350;
  /** Batches after which the training ends. */
  const BATCHES = 120;

  const pause = (time) => new Promise((resolve) => setTimeout(resolve, time));

  /** Plays the kernel. A reader who prefers less motion gets its last instruction. */
  async function play(lanes, said, result) {
    const files = { [FILE]: await fourLevels.kernel(FILE) };
    const { steps } = await fourLevels.common().ask({ do: "record", line: LAUNCH, files, block: [0, 0, 0], most: 1000 });
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    for (const step of still ? steps.filter((step) => /^st/.test(step.text)) : steps) {
      lanes.forEach((lane, at) => {
        const runs = (step.active >>> at) & 1;
        lane.classList.toggle("fl-active", Boolean(runs));
        lane.title = `lane ${at} ${runs ? "runs" : "doesn't run"}`;
      });
      said.replaceChildren(`${fourLevels.sentence([step])} `, element("code", {}, step.text));
      await pause(still ? 0 : PAUSE);
    }
    const { buffers } = await fourLevels.common().ask({ do: "command", line: LAUNCH, files });
    const { values } = buffers.find(({ changed }) => changed);
    result.replaceChildren("y is now ", element("code", {}, values.join(" ")), ". Lanes 20 to 31 were stopped by the guard, and their elements are as before.");
  }

  /** Trains the network, and shows the loss. */
  async function train(device, canvas, said) {
    const billions = (count) => (count / 1e9).toFixed(2);
    await device.ask({ do: "train-start", text: await fourLevels.kernel("ptx/tiled.ptx"), seed: 1, samples: 4096 });
    for (let batches = 0; batches < BATCHES;) {
      const state = await device.ask({ do: "train-step", batches: 2 });
      if (state.fault) throw new Error(state.text);
      batches = state.batches;
      fourLevels.curve(canvas, state.losses);
      const right = state.accuracy === undefined ? "" : ` It reads ${(100 * state.accuracy).toFixed(0)} % of other digits.`;
      said.textContent = `${batches} batches of 256 digits: ${billions(state.threadInstructions)} billion GPU instructions in your browser, no GPU.${right}`;
    }
  }

  fourLevels.front = async (place) => {
    await fourLevels.load("training.js", "warp.js");
    const lanes = Array.from({ length: LANES }, () => element("span"));
    const said = element("p", {}, "");
    const result = element("p", { role: "status" });
    const canvas = element("canvas", { class: "fl-loss", width: "1280", height: "440", role: "img", "aria-label": "The loss of each batch" });
    const trained = element("p", {}, "Drawing digits …");
    const problems = element("div");
    const device = fourLevels.device();
    const stop = element("button", { type: "button", onclick: () => device.stop() }, "■ stop the training");
    place.replaceChildren(element("section", { class: "fl-front", "aria-label": "A kernel and a network that run in this page" },
      element("div", {}, element("div", { class: "fl-row32", role: "img", "aria-label": "The 32 lanes of a warp; those that run are green" }, ...lanes), said, result),
      element("div", {}, canvas, trained, element("div", { class: "fl-bar" }, stop))), problems);
    const failed = (error) => { if (error.message !== "stopped") problems.append(element("p", { class: "fl-problem", role: "alert" }, error.message)); };
    // Not awaited: the reader goes on while both run.
    play(lanes, said, result).catch(failed);
    train(device, canvas, trained).catch(failed).finally(() => { device.stop(); stop.remove(); place.dataset.done = ""; });
  };
})();
