// The start script, which every page loads. The other scripts are loaded when the reader first runs a kernel. Without
// scripts, pages can still be read.
//
// The files here are plain scripts that share one object, because browsers load no modules from a folder on disk.
"use strict";

globalThis.fourLevels = (() => {
  const here = document.currentScript.src;
  /** The address of a file in the folder of this script. */
  const beside = (name) => new URL(name, here).href;

  const loading = new Map();
  /** Requests a script of this folder, once; one that failed is requested again. With a question mark it may be missing. */
  function request(name) {
    const optional = name.endsWith("?");
    const file = optional ? name.slice(0, -1) : name;
    if (!loading.has(file)) {
      loading.set(file, new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = beside(file);
        // In order, although they are requested at the same time.
        script.async = false;
        script.onload = resolve;
        script.onerror = () => {
          script.remove();
          loading.delete(file);
          if (optional) resolve();
          else reject(new Error(`${file} can't be loaded; check the connection and click again`));
        };
        document.head.append(script);
      }));
    }
    return loading.get(file);
  }
  const load = (...names) => Promise.all(names.map(request));

  /** Has `load` request a script again that was loaded and is of no use. */
  const forget = (file) => loading.delete(file);

  /** The kernels of the book that can be run, by their paths; each has a script with its text and its commands. */
  const built = globalThis.fourLevelsBuilt ?? { kernels: [], moduleBytes: 0 };
  const kernels = {};
  const commands = {};
  /** The text of a kernel, which is loaded when it is needed; undefined if the book doesn't run it. */
  async function kernel(file) {
    if (built.kernels.includes(file)) await load(`kernels/${file}.js`);
    return kernels[file];
  }

  /** Shows below `place` why something can't be done, instead of the reason shown there before; without a text, removes that. */
  function problem(place, text) {
    for (const old of place.querySelectorAll(":scope > .fl-problem")) old.remove();
    if (text) place.append(element("p", { class: "fl-problem", role: "alert" }, text));
  }

  /**
   * Does `work` for a button, which is disabled meanwhile. The text that `work` passes to its argument is shown as
   * progress in `place`, and so is the reason if it fails.
   */
  async function once(button, place, work) {
    const progress = element("span", { class: "fl-status", role: "status" });
    button.disabled = true;
    button.after(progress);
    problem(place);
    try {
      await work((text) => { progress.textContent = ` ${text}`; });
    } catch (error) {
      problem(place, `This can't be run: ${error.message}`);
    }
    progress.remove();
    button.disabled = false;
  }

  /** An element with attributes, listeners (`onclick`) and children. */
  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else if (value === true) made.setAttribute(key, "");
      else if (value !== false && value !== undefined && value !== null) made.setAttribute(key, value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }

  /** Scrolls to an element, below mdBook's menu bar. */
  function scrollTo(place) {
    place.scrollIntoView({ block: "start" });
    // mdBook's handler leaves the bar in the middle of the page after a long way up, until the next event.
    requestAnimationFrame(() => requestAnimationFrame(() => document.dispatchEvent(new Event("scroll"))));
  }

  const COMMAND = /^\$ cargo run -p ptx-emulator -- ((?:run|trace|profile|check) [^|]*)/;

  /** The commands of an output, without filters for their lines. */
  function commandsOf(code) {
    return code.textContent.split("\n").map((line) => COMMAND.exec(line)?.[1].trim()).filter(Boolean);
  }

  /** The kernel file that a command names. */
  const fileOf = (line) => line.split(/\s+/).slice(1).find((word) => /\.(ptx|cu)$/.test(word));

  const DESK = ["editor.js", "outputs.js", "codemirror.js?"];

  /** Loads scripts and the emulator at the same time, and reports the progress. */
  async function prepare(progress, ...names) {
    progress("loading …");
    await load("device.js");
    await Promise.all([fourLevels.compile(progress), load(...names)]);
  }

  /** Loads the emulator before the first click, when the pointer is over a button that needs it, or the focus on it. */
  function prefetch({ target }) {
    if (!target.closest?.(".fl-open, .fl-look, .fl-begin, .fl-still button")) return;
    for (const name of ["pointerover", "focusin"]) removeEventListener(name, prefetch);
    // If it fails, so does the click, which says why.
    prepare(() => {}, ...DESK).catch(() => {});
  }

  /** Opens the panel below a block; with `look`, also the view of a warp. */
  const open = (block, choice, look = false) => once(block.button, block.place, async (progress) => {
    await Promise.all([prepare(progress, ...DESK, "warp.js", "panel.js"), kernel(block.file)]);
    if (choice) block.panel?.choose(choice);
    block.panel ??= fourLevels.panel(block, choice);
    block.panel.element.hidden = false;
    if (look) block.panel.look();
    else block.panel.focus();
  });

  const blocks = [];

  /** Adds the button that opens a block's panel. */
  function offer(pre, file, lines) {
    const block = { place: pre, file, lines, panel: null };
    const name = file.split("/").pop();
    block.button = element("button", {
      type: "button", class: "fl-open", onclick: () => open(block), "aria-label": `▶ run it here: ${name}`,
    }, "▶ run it here");
    const look = element("button", {
      type: "button", class: "fl-look", onclick: () => open(block, undefined, true), "aria-label": `look into a warp: ${name}`,
    }, "look into a warp");
    block.place = element("div", { class: "fl-block" }, block.button, " ", look);
    pre.after(block.place);
    blocks.push(block);
  }

  /** Adds the button that opens the panel for a puzzle's frame or solution. */
  function offerAttempt(code) {
    const { puzzle, text } = code.dataset;
    const place = element("div", { class: "fl-block" });
    const button = element("button", { type: "button", class: "fl-open", "aria-label": `▶ try it here: ${text}`, onclick: () => once(button, place, async (progress) => {
      await prepare(progress, ...DESK, "puzzles.js");
      await fourLevels.attempt(place, puzzle, text);
      button.hidden = true;
    }) }, "▶ try it here");
    place.append(button);
    code.parentElement.after(place);
  }

  /** Replaces a still picture of a warp by the interactive view at its first use. The launch is recorded then. */
  function enliven(still) {
    const { file, launch, at, warp } = still.dataset;
    const status = element("span", { class: "fl-status", role: "status" });
    let asked = false;
    async function live(act) {
      if (asked) return;
      asked = true;
      try {
        await prepare((text) => { status.textContent = text; }, "warp.js");
        status.textContent = "recording …";
        const files = { [file]: await kernel(file) };
        const record = (block) => fourLevels.common().ask({ do: "record", line: launch, files, block, most: 20000 });
        const place = element("div");
        const again = async (block) => fourLevels.warpView(place, await record(block), { again });
        const first = await record([0, 0, 0]);
        still.replaceWith(place);
        act(fourLevels.warpView(place, first, { again, moment: { step: Number(at), warp: Number(warp) } }));
      } catch (error) {
        asked = false;
        status.textContent = `This can't be run: ${error.message}`;
      }
    }
    const button = (text, label, act) => element("button", { type: "button", "aria-label": label, title: label, onclick: () => live(act) }, text);
    const acts = { Home: (view) => view.go(0, true), ArrowLeft: (view) => view.step(-1), ArrowRight: (view) => view.step(1), End: (view) => view.end() };
    still.prepend(element("div", { class: "fl-bar" },
      button("|◀", "to the beginning", acts.Home), button("◀", "one instruction of this warp back", acts.ArrowLeft),
      button("▶", "one instruction of this warp further", acts.ArrowRight), button("▶|", "to the end", acts.End),
      element("code", { class: "fl-of" }, file.split("/").pop()), status));
    still.tabIndex = 0;
    still.setAttribute("role", "group");
    still.setAttribute("aria-label", `A warp of ${file.split("/").pop()}: arrow keys step`);
    still.addEventListener("keydown", (event) => {
      if (!acts[event.key]) return;
      event.preventDefault();
      event.stopPropagation();
      live(acts[event.key]);
    });
    for (const row of still.querySelectorAll(".fl-row")) {
      row.addEventListener("click", () => live((view) => view.runTo(Number(row.firstChild.textContent))));
    }
  }

  /** Marks the puzzles that the reader has solved in the table of contents. */
  function markSolved() {
    let texts = {};
    try {
      texts = JSON.parse(localStorage.getItem("four-levels-puzzles")) ?? {};
    } catch {
      // No storage, or something else in it.
    }
    const solved = new Set(Object.entries(texts).filter(([, { solved }]) => solved).map(([name]) => name.replace(/\.\w+$/, "")));
    for (const link of document.querySelectorAll('#mdbook-sidebar a[href*="puzzles/"]')) {
      const is = solved.has(/puzzles\/([\w-]+)\.html/.exec(link.href)?.[1]);
      const mark = link.querySelector(".fl-done");
      if (is && !mark) link.append(element("span", { class: "fl-done" }, " ✓"));
      else if (!is) mark?.remove();
    }
  }

  /** Makes parts that scroll reachable by keyboard. */
  function reachable() {
    for (const part of document.querySelectorAll("main pre > code, main math[display=block], main .table-wrapper, main figure, .fl-still .fl-listing, .fl-still .fl-warps")) {
      if (part.scrollWidth > part.clientWidth || part.scrollHeight > part.clientHeight + 1) part.tabIndex = 0;
      else part.removeAttribute("tabindex");
    }
  }

  function begin() {
    reachable();
    markSolved();
    for (const name of ["pointerover", "focusin"]) addEventListener(name, prefetch);
    addEventListener("resize", reachable);
    document.querySelectorAll(".fl-still").forEach(enliven);
    const outputs = [...document.querySelectorAll("main code.language-console")].map((code) => ({ code, lines: commandsOf(code) }));
    const onPage = outputs.flatMap((output) => output.lines);
    for (const code of document.querySelectorAll("main code[data-file]")) {
      const file = code.dataset.file;
      if (built.kernels.includes(file)) offer(code.parentElement, file, onPage.filter((line) => fileOf(line) === file));
    }
    document.querySelectorAll("main code[data-puzzle]").forEach(offerAttempt);
    for (const { code, lines } of outputs) {
      const known = lines.filter((line) => built.kernels.includes(fileOf(line)));
      if (known.length) offer(code.parentElement, fileOf(known[0]), known);
    }
    for (const place of document.querySelectorAll("[data-four-levels]")) {
      const name = place.dataset.fourLevels;
      const button = element("button", { type: "button", class: "fl-begin", onclick: () => once(button, place, async (progress) => {
        await prepare(progress, ...DESK, `${name}.js`);
        await fourLevels[name](place);
      }) }, place.dataset.button ?? "▶ begin here");
      place.classList.add("fl-block");
      place.append(button);
    }
    addEventListener("hashchange", follow);
    follow();
  }

  /** Opens a shared link, `#kernel=…`, and runs its kernel. */
  async function follow() {
    const main = document.querySelector("main");
    problem(main);
    const packed = /^#kernel=(.*)$/.exec(location.hash)?.[1];
    if (packed === undefined) return;
    try {
      await load("share.js");
      const shared = await fourLevels.unpack(packed);
      const block = blocks.find((block) => block.file === shared.file);
      if (!block) throw new Error(`this page has no kernel ${shared.file}`);
      await open(block, shared);
      scrollTo(block.panel?.element ?? block.place);
      await block.panel?.execute(null);
    } catch (error) {
      problem(main, `This link can't be opened: ${error.message}. Ask for a new link, or open a block of this page.`);
      scrollTo(main.querySelector(":scope > .fl-problem"));
    }
  }

  document.addEventListener("DOMContentLoaded", begin);
  return { beside, load, forget, built, kernels, commands, kernel, scrollTo, element, fileOf, markSolved };
})();
