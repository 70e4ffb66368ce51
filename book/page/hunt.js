// The bug hunt: a dump with a bug in one line of the training step. The reader picks the line, and then writes it as it is
// in the dump; the page's module judges both.
"use strict";

(() => {
  const { element } = fourLevels;
  /** The reader's progress in this browser: for each bug `"found"` (its line) or `"solved"`. */
  const KEY = "four-levels-hunt";

  function progress() {
    try {
      return JSON.parse(localStorage.getItem(KEY)) ?? {};
    } catch {
      // No storage, or something else in it.
      return {};
    }
  }
  function remember(number, state) {
    const known = progress();
    if (known[number] === "solved") return;
    try {
      localStorage.setItem(KEY, JSON.stringify({ ...known, [number]: state }));
    } catch {
      // No storage: the marks last as long as the page.
    }
  }

  /** The dumps of a run's given tensors, step by step, as JSON. */
  async function stepsOf(run) {
    await fourLevels.load(`hunt-${run}.js`);
    const unpack = (text) => {
      const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
      return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
    };
    return Promise.all(fourLevels.hunts[run].map(unpack));
  }

  const table = (caption, names, rows) => element("div", { class: "fl-scroll", tabindex: "0", role: "group", "aria-label": caption },
    element("table", { class: "fl-table" }, element("caption", {}, caption),
      element("thead", {}, element("tr", {}, ...names.map((name) => element("th", { scope: "col" }, name)))),
      element("tbody", {}, ...rows)));

  fourLevels.hunt = async (place) => {
    const device = fourLevels.device();
    const { lines, bugs } = await device.ask({ do: "hunts" });
    const score = element("p", { class: "fl-score", role: "status" });
    const list = element("div", { class: "fl-bar", role: "group", "aria-label": "The bugs" });
    const box = element("section", { class: "fl-panel", "aria-label": "A bug" });
    place.replaceChildren(score, list, box);
    place.addEventListener("keydown", (event) => event.stopPropagation());

    function drawList(chosen) {
      const states = progress();
      const count = (state) => bugs.filter((_, at) => states[at + 1] === state).length;
      const [solved, found] = [count("solved"), count("found")];
      score.textContent = `${solved} of ${bugs.length} solved${found ? `, ${found} more found` : ""}`;
      const marks = { solved: " ✓", found: " …" };
      list.replaceChildren(...bugs.map((_, at) => element("button", {
        type: "button", "aria-pressed": String(at + 1 === chosen), "aria-label": `bug ${at + 1}${states[at + 1] ? `, ${states[at + 1]}` : ""}`, onclick: () => show(at + 1),
      }, `${at + 1}${marks[states[at + 1]] ?? ""}`)));
    }

    let shown = 0;
    async function show(number) {
      shown = number;
      drawList(number);
      delete box.dataset.shown;
      box.replaceChildren(element("p", { role: "status" }, "running the step …"));
      try {
        const symptoms = await device.ask({ do: "hunt-start", number, steps: await stepsOf(bugs[number - 1]) });
        if (shown !== number) return;
        draw(number, symptoms);
      } catch (error) {
        if (shown !== number) return;
        box.replaceChildren(element("p", { class: "fl-fault", role: "alert" }, error.message));
      }
      box.dataset.shown = String(number);
    }

    function draw(number, { steps, step, rows, elements }) {
      const answer = element("div", { "aria-live": "polite" });
      const reply = (right, ...texts) => answer.replaceChildren(...texts.filter(Boolean).map((text) => element("p", { class: right ? "fl-solved" : "fl-fault" }, text)));
      /** Asks the device, and shows why if it can't answer, for example because a formula can't be read. */
      const ask = async (request, use) => {
        try {
          use(await device.ask(request));
        } catch (error) {
          reply(false, error.message);
        }
        answer.dataset.done = String(Number(answer.dataset.done ?? 0) + 1);
      };
      const field = element("input", { type: "text", class: "fl-command", "aria-label": "The line as it is in the dump", spellcheck: "false", autocapitalize: "off" });
      const form = element("form", { class: "fl-bar", hidden: true, onsubmit(event) {
        event.preventDefault();
        ask({ do: "hunt-guess", line: field.value }, ({ right, text, lesson }) => {
          reply(right, text, lesson);
          if (right) { remember(number, "solved"); drawList(number); }
        });
      } }, field, element("button", { type: "submit" }, "▶ check it"));
      const pick = (line, button) => ask({ do: "hunt-pick", tensor: line.split(/\s/)[0] }, ({ right, text }) => {
        reply(right, text, right && "How does it read in the dump? Change it until it makes every tensor.");
        if (!right) return;
        for (const other of choices) other.setAttribute("aria-pressed", String(other === button));
        remember(number, "found");
        drawList(number);
        field.value = line.replace(/\s+=/, " =");
        form.hidden = false;
        field.focus();
      });
      const choices = lines.map((line) => {
        const button = element("button", { type: "button", class: "fl-choice", "aria-pressed": "false", onclick: () => pick(line, button) }, element("code", {}, line));
        return button;
      });
      const look = element("button", { type: "button", onclick: () => ask({ do: "hunt-look" }, ({ tensor, operation, reading, cause }) => reply(false, operation ?? tensor, reading, cause)) }, "let tensor-diff look");
      const solution = element("button", { type: "button", onclick: () => ask({ do: "hunt-solution" }, ({ line, lesson }) => reply(true, line, lesson)) }, "the solution");
      const which = steps > 1 ? `: step ${step} of ${steps}, counted from 0` : "";
      box.setAttribute("aria-label", `Bug ${number}`);
      box.replaceChildren(
        element("div", { class: "fl-columns" },
          table(`The tensors of ${bugs[number - 1]} with the bug, in the order of computation${which}`, ["tensor", "verdict", "wrong elements"],
            rows.map(({ tensor, differs, verdict, outside, elements }) => element("tr", { class: differs ? "fl-differs" : "" },
              element("th", { scope: "row" }, tensor), element("td", {}, verdict), element("td", {}, differs && outside != null ? `${outside} of ${elements}` : "")))),
          element("div", {},
            table("The first wrong tensor, where it is furthest off", ["element", "with the bug", "reference"],
              elements.map(({ place, wrong, right }) => element("tr", {}, element("th", { scope: "row" }, place), element("td", {}, wrong), element("td", {}, right)))),
            element("p", {}, "Which line of the step is wrong?"),
            element("div", { class: "fl-choices", role: "group", "aria-label": "The lines of the step" }, ...choices))),
        form, element("div", { class: "fl-bar" }, look, solution), answer);
    }

    const states = progress();
    const next = bugs.findIndex((_, at) => states[at + 1] !== "solved");
    await show(next < 0 ? 1 : next + 1);
  };
})();
