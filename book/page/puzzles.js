// Puzzles: a task, a frame to fill in, tests that teach, hints, a solution. Progress is only stored in the browser.
"use strict";

(() => {
  const { element } = fourLevels;
  /** Number of blocks in which the store of a wrong element is looked for. */
  const BLOCKS = 32;
  /** The puzzles by subject: the chapter that teaches it, and its first puzzle. */
  const GROUPS = [
    ["Threads and blocks", "../gpu/threads.html", "add-one"], ["Sectors", "../gpu/coalescing.html", "coalesce"], ["An element for each thread", "../level2/kernels.html", "relu"],
    ["Adding up together", "../gpu/together.html", "rotate"], ["Banks", "../gpu/coalescing.html", "transpose"], ["Products", "../level2/ladder.html", "loops"],
    ["Backpropagation", "../backpropagation/layers.html", "softmax"], ["All blocks", "../level4/epoch.html", "grid-barrier"],
  ];
  /** The reader's texts and solved puzzles, by `name.extension`. They are only stored in the browser. */
  const progress = () => fourLevels.memory("four-levels-puzzles");

  /** Renders the subset of Markdown in tasks and hints: paragraphs, lists, blocks, code, emphasis, links. */
  function prose(text) {
    const inline = (text) => text.split(/(`[^`]+`|\*\*[^*]+\*\*|\*[^*]+\*|\[[^\]]+\]\([^)]+\))/).map((part) => {
      if (/^`.+`$/.test(part)) return element("code", {}, part.slice(1, -1));
      if (/^\*\*.+\*\*$/.test(part)) return element("strong", {}, part.slice(2, -2));
      if (/^\*.+\*$/.test(part)) return element("em", {}, part.slice(1, -1));
      const link = /^\[([^\]]+)\]\(([\w-]+)\.md\)$/.exec(part);
      if (link) return element("a", { href: `#${link[2]}` }, link[1]);
      return part;
    });
    return text.split(/\n{2,}/).map((block) => {
      if (block.startsWith("```")) return element("pre", { tabindex: "0" }, element("code", {}, block.replace(/^```.*\n/, "").replace(/\n```$/, "")));
      const lines = block.split("\n");
      if (lines[0].startsWith("- ")) {
        const items = block.split(/\n(?=- )/).map((item) => element("li", {}, ...inline(item.slice(2))));
        return element("ul", {}, ...items);
      }
      return element("p", {}, ...inline(block));
    });
  }

  /** Shows the outcome of an attempt. */
  function verdict(parent, { verdict, solved, costs, outcome }, select) {
    const { what, teaches, marks, places, tried, wrong, printed } = outcome;
    parent.replaceChildren(element("div", { class: solved ? "fl-solved" : "fl-fault", role: "status" }, element("strong", {}, verdict), what ? `: ${what}` : "",
      ...teaches.flatMap(prose),
      ...places.map(({ line, text, role }) => element("div", {}, element("button", { type: "button", onclick: () => select(line) }, `line ${line}`), " ", element("code", {}, text.trim()), ` ${role}`))));
    if (tried.length) parent.append(element("ul", { class: "fl-tried", "aria-label": "The sizes that were tried" }, ...tried.map(({ size, passed }) => element("li", {}, `${passed ? "✓" : "✗"} ${size}`))));
    if (costs) {
      parent.append(element("table", { class: "fl-table" }, element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "what it cost"), element("th", { scope: "col" }, "yours"), element("th", { scope: "col" }, "the solution"))),
        element("tbody", {}, ...costs.map(([name, own, other]) => element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, String(own)), element("td", {}, String(other)))))));
    }
    if (wrong) {
      const columns = wrong.shape[wrong.shape.length - 1] || 1;
      const first = wrong.wrong.indexOf(true);
      const shown = [...Array(wrong.got.length).keys()].filter((at) => Math.abs(at - first) <= 8 && at < wrong.got.length);
      parent.append(element("p", {}, `${wrong.buffer}: expected, got, and which are wrong`),
        element("div", { class: "fl-units fl-wrong" }, fourLevels.heatMap(wrong.expected, columns, `${wrong.buffer}, as expected`), fourLevels.heatMap(wrong.got.map((value) => value ?? NaN), columns, `${wrong.buffer}, as it is`), fourLevels.heatMap(wrong.wrong.map(Number), columns, `${wrong.buffer}, where it is wrong`)),
        element("div", { class: "fl-scroll", tabindex: "0", role: "group", "aria-label": "Elements near the first wrong one" }, element("table", { class: "fl-table" }, ...[["element", (at) => at], ["expected", (at) => wrong.expected[at]], ["got", (at) => wrong.got[at] ?? "NaN"]].map(([name, of]) =>
          element("tr", {}, element("th", { scope: "row" }, name), ...shown.map((at) => element("td", { class: wrong.wrong[at] ? "fl-off-by" : "" }, String(of(at)))))))));
    }
    if (printed) parent.append(element("pre", { class: "fl-text", tabindex: "0" }, printed));
    return marks.map(({ warning, ...mark }) => ({ severity: warning ? "warning" : "error", ...mark }));
  }

  /**
   * Elements to write and check an attempt; they have to be in the page before `begin` is called. The editor shows one of
   * three texts: the reader's own, which is kept in the browser, the frame, and the solution. The last two are there to
   * be read and tried; edits of them are dropped.
   */
  function desk({ device, kept, puzzle, source, shown = "own", onsolved, more = [] }) {
    const own = () => kept.get(key(puzzle, source)).text ?? source.frame;
    const texts = { own: ["your kernel", own], frame: ["the frame", () => source.frame], solution: ["the solution", () => source.solution] };
    const outcome = element("div", { class: "fl-outcome" });
    const status = element("span", { class: "fl-status", role: "status" });
    const hints = element("div", { class: "fl-hints", "aria-live": "polite" });
    const field = element("div", { class: "fl-editor" });
    let editor = null;
    let busy = false;
    const stop = element("button", { type: "button", onclick: () => device.stop() }, "■ stop");
    stop.disabled = true;
    async function attempt() {
      if (busy) return;
      busy = true;
      stop.disabled = false;
      status.textContent = "trying …";
      try {
        const text = editor.get();
        const answer = await device.ask({ do: "attempt", puzzle: puzzle.name, language: source.language, text });
        status.textContent = "";
        editor.diagnose(verdict(outcome, answer, editor.select));
        if (answer.outcome.places.length || answer.outcome.wrong) {
          const into = element("div");
          outcome.append(element("div", {}, element("button", { type: "button", class: "fl-look-into", onclick: () => look(into, answer.outcome, text) }, "look into it"), " the warp at this instruction"), into);
        }
        if (answer.solved && shown === "own") {
          kept.set(key(puzzle, source), { solved: true });
          onsolved?.();
        }
      } catch (error) {
        status.textContent = error.message === "stopped" ? "stopped" : "";
        if (error.message !== "stopped") outcome.replaceChildren(element("div", { class: "fl-fault", role: "alert" }, error.message));
      }
      busy = false;
      stop.disabled = true;
      outcome.dataset.done = String(Number(outcome.dataset.done ?? 0) + 1);
    }
    /**
     * Opens the view of the warp at the step that failed: a fault, or the store of the first wrong element, which one of the
     * first blocks does.
     */
    async function look(place, { tried, wrong }, text) {
      const record = (block) => device.ask({ do: "record-attempt", puzzle: puzzle.name, language: source.language, text, size: tried.length - 1, block });
      const again = async (block) => fourLevels.warpView(place, await record(block), { again });
      try {
        place.textContent = "recording …";
        await fourLevels.load("warp.js");
        let found = await record([0, 0, 0]);
        const [columns, rows, layers] = found.grid;
        // The reader may have renamed the parameter.
        const named = (place) => place.replace(/\+.*/, "") === wrong.buffer;
        const renamed = wrong && !found.steps.some(({ accesses }) => accesses.some(({ place }) => named(place)));
        const stores = ({ accesses }) => accesses.some(({ kind, place, bytes, offsets }) => kind !== "load" && (renamed || named(place))
          && offsets.some(([, offset]) => offset <= 4 * first && 4 * first < offset + bytes));
        const first = wrong?.wrong.indexOf(true);
        // A fault ends the launch before later blocks begin.
        const [x, y, z] = found.fault?.block ?? [0, 0, 0];
        if (x || y || z) found = await record([x, y, z]);
        for (let number = 1; wrong && !found.steps.some(stores) && number < Math.min(BLOCKS, columns * rows * layers); number++) {
          found = await record([number % columns, Math.floor(number / columns) % rows, Math.floor(number / columns / rows)]);
        }
        const step = wrong ? found.steps.findLastIndex(stores) : -1;
        const view = fourLevels.warpView(place, found, { again, moment: step < 0 ? null : { step, warp: found.steps[step].warp } });
        place.scrollIntoView({ block: "nearest" });
        return view;
      } catch (error) {
        place.textContent = `This can't be recorded: ${error.message}`;
      }
    }
    /** Shows another text in a new editor, so that undoing an edit doesn't bring back another text. */
    function show(name) {
      shown = name;
      field.replaceChildren();
      begin().focus();
    }
    const choices = Object.fromEntries(Object.entries(texts).map(([name, [label]]) => [name, element("button", { type: "button", onclick: () => show(name) }, label)]));
    const mark = () => Object.entries(choices).forEach(([name, button]) => button.setAttribute("aria-pressed", String(name === shown)));
    // The text is checked while the reader types, but not after each letter, and not while it is tried.
    let timer = 0;
    async function check() {
      if (busy) return;
      try {
        const { diagnostics } = await device.ask({ do: "check", name: `${puzzle.name}.${source.extension}`, text: editor.get() });
        if (!busy) editor.diagnose(diagnostics);
      } catch {
        // Stopped: the next edit starts another check.
      }
    }
    function begin() {
      editor = fourLevels.editor(field, {
        text: texts[shown][1](), label: `${puzzle.title}: ${texts[shown][0]}`, isCuda: source.language === "cuda-c",
        onchange(text) {
          if (shown !== "own") status.textContent = "edits of this text are not kept";
          else if (text !== own()) kept.set(key(puzzle, source), { text });
          editor?.diagnose([]);
          clearTimeout(timer);
          timer = setTimeout(check, 250);
        },
      });
      status.textContent = "";
      mark();
      return editor;
    }
    fourLevels.runKey(field, attempt);
    const again = element("button", { type: "button", title: "Your kernel becomes the frame again; undo brings it back", onclick: () => { if (shown !== "own") show("own"); editor.set(source.frame); } }, "start over");
    const hint = element("button", { type: "button", onclick() {
      const next = hints.children.length;
      if (next < puzzle.hints.length) hints.append(element("div", {}, element("strong", {}, `Hint ${next + 1}. `), ...prose(puzzle.hints[next])));
      hint.disabled = hints.children.length === puzzle.hints.length;
    } }, "a hint");
    return {
      elements: [
        field,
        element("div", { class: "fl-bar" }, element("button", { type: "button", class: "fl-try", onclick: attempt }, "▶ try it"), stop, hint,
          element("span", { role: "group", class: "fl-texts", "aria-label": "The text in the editor" }, ...Object.values(choices)), again, ...more, status),
        hints, outcome,
      ],
      begin,
    };
  }

  const key = (puzzle, source) => `${puzzle.name}.${source.extension}`;

  /** The panel for a puzzle's frame or solution on a page of the book; `text` is `frame.cu`, …. */
  fourLevels.attempt = async (place, name, text) => {
    const device = fourLevels.common();
    const puzzle = (await device.ask({ do: "puzzles" })).find((one) => one.name === name);
    const [which, extension] = text.split(".");
    const source = puzzle.sources.find((source) => source.extension === extension);
    // In place of a frame, the reader's own text, as on the page of all puzzles.
    const { elements, begin } = desk({ device, kept: progress(), puzzle, source, shown: which === "frame" ? "own" : which });
    const box = element("section", { class: "fl-panel fl-puzzle", "aria-label": puzzle.title }, ...elements);
    box.addEventListener("keydown", (event) => event.stopPropagation());
    place.append(box);
    begin().focus();
  };

  fourLevels.puzzles = async (place) => {
    const device = fourLevels.common();
    const kept = progress();
    const all = await device.ask({ do: "puzzles" });
    const starts = GROUPS.map(([, , first]) => all.findIndex(({ name }) => name === first));
    const groups = GROUPS.map(([title, chapter], at) => ({ title, chapter, puzzles: all.slice(starts[at], starts[at + 1]) }));
    const list = element("ul", { class: "fl-puzzles", "aria-label": "All puzzles" });
    const box = element("section", { class: "fl-panel fl-puzzle" });
    const score = element("p", { class: "fl-score", role: "status" });
    place.replaceChildren(score, list, box);
    kept.watch(() => drawList(chosen));
    place.addEventListener("keydown", (event) => event.stopPropagation());
    const solved = (puzzle) => puzzle.sources.some((source) => kept.get(key(puzzle, source)).solved);

    let chosen = null;
    function drawList(puzzle) {
      chosen = puzzle;
      const count = all.filter(solved).length;
      score.textContent = `${count} of ${all.length} solved`;
      list.replaceChildren(...groups.map(({ title, chapter, puzzles }) => element("li", {},
        element("a", { href: chapter }, title), ` ${puzzles.filter(solved).length} of ${puzzles.length}`,
        element("ol", { start: String(all.indexOf(puzzles[0]) + 1) }, ...puzzles.map((puzzle) => element("li", { class: puzzle === chosen ? "fl-chosen" : "" },
          element("a", { href: `#${puzzle.name}` }, puzzle.title), ` ${solved(puzzle) ? "✓ solved: " : ""}${puzzle.idea}`))))));
      list.dataset.solved = String(count);
      fourLevels.markSolved();
    }

    function show(puzzle, source = puzzle.sources[0]) {
      drawList(puzzle);
      const picture = element("div", { class: "fl-picture", tabindex: "0" });
      // Safe as HTML: the picture comes from this project's own module.
      if (puzzle.picture) picture.innerHTML = puzzle.picture;
      box.setAttribute("aria-label", puzzle.title);
      const next = all[all.indexOf(puzzle) + 1];
      const group = groups.find(({ puzzles }) => puzzles.includes(puzzle));
      const { elements, begin } = desk({
        device, kept, puzzle, source, onsolved: () => drawList(puzzle),
        more: [element("a", { href: group.chapter }, "the chapter"), ...(next ? [element("a", { href: `#${next.name}` }, "next puzzle")] : [])],
      });
      box.replaceChildren(element("h2", {}, puzzle.title), ...prose(puzzle.text), picture,
        puzzle.demands.length ? element("p", {}, `The limit on its cost: ${puzzle.demands.join(", and ")}.`) : "",
        element("details", {}, element("summary", {}, `Tested on ${puzzle.sizes.length} sizes, with every sanitizer`), element("ul", {}, ...puzzle.sizes.map((size) => element("li", {}, size)))),
        element("div", { class: "fl-bar", role: "group", "aria-label": "The language" }, ...puzzle.sources.map((other) => element("button", { type: "button", "aria-pressed": String(other === source), onclick: () => show(puzzle, other) }, other.name))),
        ...elements);
      begin();
    }

    const follow = () => show(all.find(({ name }) => `#${name}` === location.hash) ?? all.find((puzzle) => !solved(puzzle)) ?? all[0]);
    addEventListener("hashchange", () => { follow(); fourLevels.scrollTo(box); });
    follow();
  };
})();
