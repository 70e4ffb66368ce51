// A network that trains in the page, on the emulated GPU, with kernels that the reader can edit.
"use strict";

(() => {
  const { element } = fourLevels;
  const FILE = "ptx/tiled.ptx";
  const SIDE = 28;
  /** Number of training images, and of batches in a request to the worker. */
  const SAMPLES = 4096;
  /** By how many pixels images are moved in training, at most. */
  const MAX_SHIFT = 1;
  const AT_ONCE = 2;
  /** Number of batches of a training with the reader's kernels: every image six times. */
  const OWN_BATCHES = 96;

  /** A text without one of its lines, which stays as a comment. */
  const without = (line) => (text) => text.replaceAll(`    ${line}`, `    // left out: ${line}`);

  /** Mistakes: the description, the change of the kernels, a text in the line to show, and whether the host's order is the mistake. */
  const MISTAKES = [
    { name: "forget ReLU's mask", change: (text) => text.replace(/ {4}(selp\.f32 sum[01]0, sum[01]0, 0f00000000, positive;)/g, "    // left out: $1"), at: "left out" },
    { name: "remove a barrier", change: (text) => text.replace("bar.sync 0;", "// left out: bar.sync 0;"), at: "left out" },
    { name: "turn the sign of the step", change: without("neg.f32 step, step;"), at: "left out" },
    { name: "leave out 1/B", change: without("div.rn.f32 prob, prob, divisor;"), at: "left out" },
    { name: "update w2 too early", change: (text) => text, at: "dz_prev[s, k] = sum_i", early: true },
  ];

  /** Draws the losses as a curve on a logarithmic scale, from 0.01 to 1 or to the largest loss. */
  fourLevels.curve = (canvas, losses) => {
    const context = canvas.getContext("2d");
    // Twice the size on the screen, so that letters are not squeezed.
    canvas.width = 2 * (canvas.clientWidth || canvas.width / 2);
    const { width, height } = canvas;
    const style = getComputedStyle(canvas);
    context.clearRect(0, 0, width, height);
    context.font = "22px sans-serif";
    context.fillStyle = style.color;
    context.strokeStyle = style.color;
    const left = 70;
    const x = (batch) => left + (width - left - 10) * (batch / Math.max(60, losses.length));
    const finite = losses.filter((loss) => typeof loss === "number");
    const top = Math.max(0, ...finite.map((loss) => Math.ceil(Math.log10(loss))));
    const y = (loss) => 10 + (height - 50) * ((top - Math.log10(Math.max(0.01, loss))) / (2 + top));
    const marks = top ? [...Array(top + 3).keys()].filter((power) => power % Math.ceil(top / 5) === 0).map((power) => 10 ** (power - 2)) : [1, 0.5, 0.2, 0.1, 0.05, 0.02];
    context.globalAlpha = 0.35;
    for (const mark of marks) {
      context.beginPath();
      context.moveTo(left, y(mark));
      context.lineTo(width, y(mark));
      context.stroke();
    }
    context.globalAlpha = 1;
    for (const mark of marks) context.fillText(mark >= 1e4 || mark < 0.01 ? mark.toExponential(0) : String(Number(mark.toPrecision(1))), 4, y(mark) + 8);
    context.fillText(`${losses.length} batches`, width - 150, height - 8);
    context.lineWidth = 3;
    context.beginPath();
    losses.forEach((loss, batch) => { if (typeof loss === "number") context.lineTo(x(batch), y(loss)); });
    context.stroke();
  };

  /** Draws an image of bytes, such as the weights of a hidden unit, where grey is 0. */
  function image(canvas, bytes) {
    const context = canvas.getContext("2d");
    const pixels = context.createImageData(SIDE, SIDE);
    bytes.forEach((byte, at) => pixels.data.set([byte, byte, byte, 255], at * 4));
    context.putImageData(pixels, 0, 0);
  }

  /**
   * A digit as MNIST's authors prepared theirs: its box scaled to 20 × 20 pixels, the centre of its mass in the middle of
   * the image (LeCun, Cortes, Burges, yann.lecun.com/exdb/mnist). Each pixel is a mean over the part of the drawing below it.
   */
  function centred(ink) {
    const inked = [...ink.keys()].filter((at) => ink[at] > 0);
    if (!inked.length) return ink;
    const [columns, rows] = [inked.map((at) => at % SIDE), inked.map((at) => Math.floor(at / SIDE))];
    const range = (values) => [Math.min(...values), Math.max(...values) + 1];
    const [[left, right], [top, bottom]] = [range(columns), range(rows)];
    const scale = Math.max(right - left, bottom - top) / 20;
    const mass = inked.reduce((sum, at) => sum + ink[at], 0);
    const middle = (places) => inked.reduce((sum, at, index) => sum + ink[at] * (places[index] + 0.5), 0) / mass;
    const [x, y] = [middle(columns), middle(rows)];
    const FINE = 4;
    return ink.map((_, at) => {
      let sum = 0;
      for (let part = 0; part < FINE * FINE; part++) {
        const offset = (place, fine) => place + (fine + 0.5) / FINE - SIDE / 2;
        const column = Math.floor(x + scale * offset(at % SIDE, part % FINE));
        const row = Math.floor(y + scale * offset(Math.floor(at / SIDE), Math.floor(part / FINE)));
        if (column >= 0 && column < SIDE && row >= 0 && row < SIDE) sum += ink[row * SIDE + column];
      }
      return sum / (FINE * FINE);
    });
  }

  /** A field for drawing a digit, which calls `onpixels` with its pixels. */
  function drawing(onpixels) {
    const canvas = element("canvas", { class: "fl-draw", width: SIDE, height: SIDE, tabindex: "0", role: "application", "aria-label": "Draw a digit: with the pointer, or with the arrow keys, and the space bar for the pen" });
    const context = canvas.getContext("2d", { willReadFrequently: true });
    let ink = new Float32Array(SIDE * SIDE);
    let [column, row, down] = [SIDE / 2, SIDE / 2, false];
    let shown = false;

    function show() {
      const image = context.createImageData(SIDE, SIDE);
      ink.forEach((value, at) => image.data.set([value, value, value, 255].map((v, i) => (i < 3 ? Math.round(v) : v)), at * 4));
      if (shown) image.data.set(down ? [255, 120, 0, 255] : [0, 160, 255, 255], (Math.round(row) * SIDE + Math.round(column)) * 4);
      context.putImageData(image, 0, 0);
    }

    /** Draws with a pen of two pixels with a soft edge. */
    function dot(x, y) {
      for (let r = 0; r < SIDE; r++) {
        for (let c = 0; c < SIDE; c++) {
          const far = Math.hypot(c + 0.5 - x, r + 0.5 - y);
          ink[r * SIDE + c] = Math.max(ink[r * SIDE + c], 255 * Math.min(1, Math.max(0, 1.9 - far)));
        }
      }
    }

    const say = () => { show(); onpixels([...centred(ink)].map(Math.round)); };
    const at = (event) => {
      const box = canvas.getBoundingClientRect();
      return [((event.clientX - box.left) / box.width) * SIDE, ((event.clientY - box.top) / box.height) * SIDE];
    };
    let before = null;
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); shown = false; before = at(event); dot(...before); say(); });
    canvas.addEventListener("pointermove", (event) => {
      if (!before) return;
      const now = at(event);
      const steps = Math.ceil(Math.hypot(now[0] - before[0], now[1] - before[1]) * 2);
      for (let step = 1; step <= steps; step++) dot(before[0] + ((now[0] - before[0]) * step) / steps, before[1] + ((now[1] - before[1]) * step) / steps);
      before = now;
      say();
    });
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => { before = null; });
    canvas.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], " ": [0, 0] };
      if (!moves[event.key]) return;
      event.preventDefault();
      shown = true;
      if (event.key === " ") down = !down;
      column = Math.min(SIDE - 1, Math.max(0, column + moves[event.key][0]));
      row = Math.min(SIDE - 1, Math.max(0, row + moves[event.key][1]));
      if (down) dot(column + 0.5, row + 0.5);
      if (down) say(); else show();
    });
    show();
    return { canvas, clear() { ink = new Float32Array(SIDE * SIDE); down = false; shown = false; show(); } };
  }

  fourLevels.training = async (place) => {
    const device = fourLevels.device();
    const book = await fourLevels.kernel(FILE);
    /** The puzzles whose kernels are a training step, in its order. */
    const puzzles = (await device.ask({ do: "puzzles" })).filter(({ step }) => step !== null).sort((a, b) => a.step - b.step);
    const kept = fourLevels.memory("four-levels-puzzles");
    let running = false;
    let made = false;
    /** The number of the last call of `train`, which ends the earlier ones. */
    let turn = 0;
    /** The request that changes the kernels, if they aren't the book's of level 4. */
    let changed = null;
    /** The states of the reader's kernels by puzzle, once they have been checked. */
    let states = new Map();

    const status = element("p", { role: "status", class: "fl-state" }, "Nothing has been trained yet.");
    const loss = element("canvas", { class: "fl-loss", width: "1280", height: "440", role: "img", "aria-label": "The loss of each batch" });
    const pictures = Array.from({ length: 30 }, (_, at) => element("canvas", { width: SIDE, height: SIDE, role: "img", "aria-label": `The weights of hidden unit ${at}` }));
    const problem = element("div", { "aria-live": "polite" });
    const go = element("button", { type: "button", class: "fl-go", onclick: () => (running ? halt() : train()) }, "▶ train");
    const again = element("button", { type: "button", onclick: begin }, "start over");
    const answer = element("div", { class: "fl-digit", "aria-live": "polite" }, "Draw a digit.");
    const box = drawing((pixels) => read(pixels));
    const seen = element("canvas", { class: "fl-seen", width: SIDE, height: SIDE, role: "img", "aria-label": "The digit as the network sees it" });
    const clear = element("button", { type: "button", onclick: () => { box.clear(); answer.textContent = "Draw a digit."; } }, "clear");
    const text = element("div", { class: "fl-editor" });
    const button = (name, onclick, title) => element("button", { type: "button", onclick, title }, name);
    const verdict = element("div", { class: "fl-verdict", role: "status" });
    const mistakes = MISTAKES.map((mistake) => button(mistake.name, () => breakWith(mistake)));
    const kernels = element("div", {}, text, element("div", { class: "fl-bar" },
      button("train on with these kernels", async () => { if ((await exchange(false)) && !running) train(); }, "With the weights as they are"), button("ask tensor-diff", judge, "Have tensor-diff judge the next step")));
    const list = element("ol", { class: "fl-own", "aria-label": "The ten kernels of a training step" });
    const forced = element("input", { type: "checkbox" });
    const credit = element("p", { class: "fl-credit", role: "status" });
    place.replaceChildren(element("section", { class: "fl-train", "aria-label": "A network that trains in this page" },
      element("div", { class: "fl-columns" },
        element("div", {}, element("div", { class: "fl-bar" }, go, again), status, problem, loss,
          element("div", { class: "fl-bar", role: "group", "aria-label": "Break it" }, "Break it: ", ...mistakes, button("mend it", mend, "The book's kernels; weights that a mistake has ruined are reset")), verdict),
        kernels),
      element("h2", {}, "Your kernels"), list,
      element("div", { class: "fl-bar" }, button("▶ train with your kernels", trainOwn, "From new weights, with the kernels of level 2"),
        element("label", {}, forced, " also with those that fail their check")), credit,
      element("h2", {}, "Weights of the first layer"), element("div", { class: "fl-units" }, ...pictures),
      element("h2", {}, "Ask it"), element("div", { class: "fl-answer" }, element("div", {}, box.canvas, element("div", { class: "fl-bar" }, clear)), answer)));
    // In the book, arrow keys turn pages.
    place.addEventListener("keydown", (event) => event.stopPropagation());
    const editor = fourLevels.editor(text, { text: book, label: "The kernels of level 4, tiled.ptx", isCuda: false, onchange() {} });

    /** The reader's own kernels for a puzzle. */
    const own = ({ name, sources }) => sources.map(({ language, extension, frame }) => ({ puzzle: name, language, frame, ...kept.get(`${name}.${extension}`) }))
      .filter(({ text, frame }) => text !== undefined && text !== frame);

    function drawOwn() {
      list.replaceChildren(...puzzles.map((puzzle) => {
        const written = own(puzzle);
        const solved = written.find(({ solved }) => solved);
        const state = states.get(puzzle.name) ?? { own: Boolean(solved), state: solved ? "yours" : `the book's; ${written.length ? "yours isn't solved" : "not begun"}` };
        return element("li", { class: state.own ? "fl-yours" : "", "data-puzzle": puzzle.name },
          element("a", { href: `puzzles.html#${puzzle.name}` }, puzzle.title), " (", element("code", {}, puzzle.name), `): ${state.state}`);
      }));
    }
    drawOwn();
    kept.watch(() => { states = new Map(); drawOwn(); });

    function show(state) {
      place.dataset.batches = String(state.batches);
      const last = state.losses[state.losses.length - 1];
      place.dataset.loss = String(last ?? "");
      fourLevels.curve(loss, state.losses);
      state.units.forEach((bytes, at) => image(pictures[at], bytes));
      const right = state.accuracy === undefined ? "" : `, ${(100 * state.accuracy).toFixed(1)} % of 256 other digits read right`;
      const value = typeof last === "number" ? last.toFixed(4) : last;
      status.textContent = state.batches ? `${state.batches} batches of 256, loss ${value}${right}; ${(state.threadInstructions / 1e9).toFixed(2)} billion thread instructions` : "The weights are random.";
      if (state.credit) credit.textContent = state.credit;
      if (state.fault) {
        const into = element("div");
        const { block } = state.fault;
        problem.replaceChildren(element("pre", { class: "fl-fault", role: "alert" }, state.text),
          ...(block ? [element("div", {}, button("look into it", () => look(into, block)), " the warp at this instruction"), into] : []));
        halt();
      }
    }

    /** Opens the view of a warp for the launch that failed. */
    async function look(into, block) {
      try {
        into.textContent = "recording …";
        await fourLevels.load("warp.js");
        const again = async (block) => fourLevels.warpView(into, await device.ask({ do: "train-record", block }), { again });
        await again(block);
      } catch (error) {
        into.textContent = `This can't be recorded: ${error.message}`;
      }
    }

    const fail = (error) => { if (error.message !== "stopped") problem.replaceChildren(element("div", { class: "fl-fault", role: "alert" }, error.message)); halt(); };

    async function start() {
      if (made) return;
      show(await device.ask({ do: "train-start", text: book, seed: 1, samples: SAMPLES, max_shift: MAX_SHIFT }));
      made = true;
      if (changed) await device.ask(changed);
    }

    async function train() {
      running = true;
      const mine = ++turn;
      go.textContent = "■ pause";
      problem.replaceChildren();
      try {
        status.textContent = "drawing digits …";
        await start();
        const batches = () => Number(place.dataset.batches);
        const end = changed?.do === "train-own" ? batches() + OWN_BATCHES : Infinity;
        while (running && mine === turn && batches() < end) show(await device.ask({ do: "train-step", batches: AT_ONCE }));
        if (mine === turn) halt();
      } catch (error) {
        fail(error);
      }
    }

    function halt() {
      running = false;
      go.textContent = "▶ train";
    }

    function begin() {
      halt();
      device.stop();
      made = false;
      problem.replaceChildren();
      verdict.replaceChildren();
      credit.replaceChildren();
      status.textContent = "Nothing has been trained yet.";
      fourLevels.curve(loss, []);
    }

    /** Takes the kernels in the editor, and with `early` the wrong order of updates. Returns whether the kernels are valid. */
    async function exchange(early) {
      problem.replaceChildren();
      verdict.replaceChildren();
      credit.replaceChildren();
      try {
        await start();
        const request = { do: "train-kernels", text: editor.get(), updates_early: early };
        const { diagnostics } = await device.ask(request);
        editor.diagnose(diagnostics);
        if (diagnostics.length) return false;
        changed = request;
        return true;
      } catch (error) {
        fail(error);
        return false;
      }
    }

    /** Has a step with the kernels in the editor judged, and then trains on: a few more steps may ruin the weights. */
    async function judged(early) {
      halt();
      if (!(await exchange(early))) return;
      await judge();
      if (!running) train();
    }

    /** Starts with new weights if a mistake has ruined them: of a network whose units are all 0, little can be judged. */
    function renew() {
      if (!(Number(place.dataset.loss) < 0.7)) begin();
    }

    async function breakWith({ name, change, at, early = false }) {
      mistakes.forEach((button, index) => button.setAttribute("aria-pressed", String(MISTAKES[index].name === name)));
      const text = change(book);
      editor.set(text);
      editor.select(text.slice(0, text.indexOf(at)).split("\n").length);
      renew();
      await judged(early);
    }

    async function mend() {
      mistakes.forEach((button) => button.setAttribute("aria-pressed", "false"));
      editor.set(book);
      renew();
      await judged(false);
    }

    /** Trains from new weights with the kernels of level 2, among them the reader's, after tensor-diff has judged a step. */
    async function trainOwn() {
      mistakes.forEach((button) => button.setAttribute("aria-pressed", "false"));
      begin();
      credit.textContent = "checking your kernels …";
      try {
        changed = null;
        await start();
        const kernels = puzzles.flatMap(own).map(({ puzzle, language, text }) => ({ puzzle, language, text }));
        const request = { do: "train-own", kernels, unchecked: forced.checked };
        const answer = await device.ask(request);
        changed = request;
        states = new Map(answer.kernels.map((state) => [state.puzzle, state]));
        drawOwn();
        credit.replaceChildren();
      } catch (error) {
        credit.replaceChildren();
        fail(error);
        return;
      }
      await judge();
      if (!running) train();
    }

    /** Shows tensor-diff's verdict on the next step. */
    async function judge() {
      verdict.textContent = "tensor-diff recomputes a step …";
      try {
        await start();
        const { agrees, tensors, tensor, operation, reading, cause, warnings } = await device.ask({ do: "train-judge" });
        const lines = (texts) => texts.filter(Boolean).map((text) => element("p", {}, text));
        verdict.className = `fl-verdict ${agrees ? "fl-solved" : "fl-fault"}`;
        verdict.replaceChildren(...(tensor
          ? [element("p", {}, "tensor-diff: the first wrong tensor is ", element("strong", {}, tensor), ". The operation is ", element("code", {}, operation ?? "unknown"), "."), ...lines([reading, cause])]
          : lines([`tensor-diff: all ${tensors} tensors of a step are right, each recomputed from its own inputs.`])), ...lines(warnings));
      } catch (error) {
        verdict.replaceChildren();
        fail(error);
      }
    }

    let asked = 0;
    async function read(pixels) {
      const number = ++asked;
      box.canvas.dataset.drawn = String(number);
      try {
        await start();
        const { p, digit } = await device.ask({ do: "train-read", pixels });
        if (number !== asked) return;
        Object.assign(answer.dataset, { digit, read: number });
        image(seen, pixels);
        answer.replaceChildren(element("div", {}, "Scaled and centred, as the digits that it learned from: ", seen),
          element("p", {}, "It reads ", element("strong", {}, String(digit))),
          element("table", { class: "fl-bars" }, ...p.map((value, at) => element("tr", {}, element("th", { scope: "row" }, String(at)),
            element("td", {}, element("meter", { min: "0", max: "1", value: typeof value === "number" ? value : 0, "aria-label": `p of ${at}` }), ` ${typeof value === "number" ? value.toFixed(3) : value}`)))));
      } catch (error) {
        fail(error);
      }
    }

    fourLevels.curve(loss, []);
  };
})();
