// The view of a block's warps: running lanes, their values, accesses to memory, waiting warps. The whole launch is recorded
// first, and the view shows any step of it. A kernel in CUDA C is stepped line by line, and instruction by instruction
// while its PTX is open.
"use strict";

(() => {
  const { element } = fourLevels;
  const LANES = 32;
  /** Number of steps from one saved copy of the registers to the next, for stepping back. */
  const KEPT = 256;
  const SECTOR = 32;
  const BANKS = 32;

  const lanesOf = (mask) => [...Array(LANES).keys()].filter((lane) => (mask >>> lane) & 1);

  /** The registers of all warps after a number of steps: `warp → register → 32 values`. */
  function history(record) {
    const kept = [new Map()];
    const copy = (state) => new Map([...state].map(([warp, registers]) => [warp, new Map([...registers].map(([name, row]) => [name, [...row]]))]));
    function apply(state, step) {
      if (!state.has(step.warp)) state.set(step.warp, new Map());
      const registers = state.get(step.warp);
      for (const [register, mask, values] of step.written) {
        if (!registers.has(register)) registers.set(register, Array(LANES).fill(""));
        lanesOf(mask).forEach((lane, at) => { registers.get(register)[lane] = values.length === 1 ? values[0] : values[at]; });
      }
    }
    return (count) => {
      while (kept.length * KEPT <= count) {
        const state = copy(kept[kept.length - 1]);
        const from = (kept.length - 1) * KEPT;
        for (let at = from; at < from + KEPT; at++) apply(state, record.steps[at]);
        kept.push(state);
      }
      const state = copy(kept[Math.floor(count / KEPT)]);
      for (let at = Math.floor(count / KEPT) * KEPT; at < count; at++) apply(state, record.steps[at]);
      return state;
    };
  }

  /** The sectors of global memory that an access touches, each with its lanes. */
  function sectors({ skew, bytes, offsets }) {
    const found = new Map();
    for (const [lane, offset] of offsets) {
      for (let sector = Math.floor((skew + offset) / SECTOR); sector * SECTOR < skew + offset + bytes; sector++) {
        if (!found.has(sector)) found.set(sector, []);
        found.get(sector).push(lane);
      }
    }
    return new Map([...found].sort(([a], [b]) => a - b));
  }

  /** For each bank of shared memory, the different words that lanes access. */
  function banks({ bytes, offsets }) {
    const found = Array.from({ length: BANKS }, () => new Map());
    for (const [lane, offset] of offsets) {
      for (let word = Math.floor(offset / 4); word * 4 < offset + bytes; word++) {
        const words = found[((word % BANKS) + BANKS) % BANKS];
        words.set(word, [...(words.get(word) ?? []), lane]);
      }
    }
    return found;
  }

  const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

  /** Lanes in words, such as `0 to 19`. */
  function ranges(mask) {
    const runs = lanesOf(mask).reduce((runs, lane) => {
      if (runs.at(-1)?.at(-1) === lane - 1) runs.at(-1).push(lane);
      else runs.push([lane]);
      return runs;
    }, []);
    const even = lanesOf(mask).length === LANES / 2 && [0x55555555, 0xaaaaaaaa].indexOf(mask >>> 0);
    if (even === 0 || even === 1) return ["the even lanes", "the odd lanes"][even];
    const text = runs.map((run) => (run.length > 2 ? `${run[0]} to ${run.at(-1)}` : run.join(", "))).join(", ");
    return `${lanesOf(mask).length === 1 ? "lane" : "lanes"} ${text}`;
  }

  /** The effect of an instruction, by the beginning of its name. One in brackets only appears if the line has no other effect. */
  const VERBS = [
    ["ld.param", "(fetch an argument)"], ["cvta", "(convert an address)"], ["mov", "(copy a value)"], ["mul.wide", "(compute an address)"], ["mad.wide", "(compute an address)"],
    ["add.s64", "(compute an address)"], ["shl.b64", "(compute an address)"], ["cvt.u64", "(compute an address)"], ["cvt.s64", "(compute an address)"], ["bra.uni", "(jump)"],
    ["ld", "read"], ["st", "write"], ["atom", "update"], ["red", "update"], ["cp.async", "copy"], ["fma", "multiply and add"], ["mad", "multiply and add"], ["mul", "multiply"], ["add", "add"], ["sub", "subtract"],
    ["div", "divide"], ["rem", "divide"], ["rcp", "divide"], ["setp", "compare"], ["selp", "choose"], ["min", "compare"], ["max", "compare"], ["bra", "branch"], ["ret", "finish"], ["exit", "finish"],
    ["bar", "come to the barrier"], ["shfl", "exchange values"], ["vote", "vote"], ["cvt", "convert"], ["and", "combine bits"], ["or", "combine bits"], ["xor", "combine bits"], ["not", "combine bits"],
    ["shl", "shift bits"], ["shr", "shift bits"], ["sqrt", "take a root"], ["ex2", "exponentiate"], ["lg2", "take a logarithm"], ["mma", "multiply matrices"], ["wmma", "multiply matrices"], ["membar", "wait for their writes"], ["fence", "wait for their writes"],
  ];

  /** The distinct actions of steps, in order. */
  function actions(steps) {
    const all = steps.map((step) => {
      const verb = VERBS.find(([name]) => step.text.replace(/^@\S+\s+/, "").startsWith(name))?.[1] ?? "compute";
      const places = new Set(step.accesses.map(({ place }) => place.replace(/\+.*/, "")));
      return places.size ? `${verb} ${[...places].join(" and ")}` : verb;
    });
    const loud = all.filter((verb) => !verb.startsWith("("));
    return [...new Set((loud.length ? loud : all).map((verb) => verb.replace(/[()]/g, "")))];
  }

  const list = (words) => (words.length > 1 ? `${words.slice(0, -1).join(", ")} and ${words.at(-1)}` : words.join(""));

  /** "Lanes 0 to 15 multiply; lanes 16 to 31 wait for their turn." */
  fourLevels.sentence = (steps) => {
    const [first] = steps;
    if (!first) return "The warp has nothing left to do.";
    const active = steps.length > 1 ? first.mask : first.active;
    const own = list(actions(steps));
    const verb = lanesOf(active).length === 1 ? own.replace(/^\S+/, (word) => (/(s|sh|ch)$/.test(word) ? `${word}es` : word.replace(/([^aeo])y$/, "$1ie") + "s")) : own;
    const parts = [active ? `${ranges(active)} ${verb}` : "no lane runs this instruction"];
    const skipped = first.mask & ~active;
    if (skipped) parts.push(`${ranges(skipped)} skip${lanesOf(skipped).length === 1 ? "s" : ""} it, because the predicate is false there`);
    const waiting = new Map();
    for (const { mask, waits } of first.others) {
      const why = waits === "turn" ? "for their turn" : waits === "lanes" ? "for the other lanes" : "at the barrier";
      waiting.set(why, (waiting.get(why) ?? 0) | mask);
    }
    for (const [why, mask] of waiting) parts.push(`${ranges(mask)} wait${lanesOf(mask).length === 1 ? "s" : ""} ${why}`);
    const gone = ~first.alive;
    if (gone) parts.push(`${ranges(gone)} ${lanesOf(gone).length === 1 ? "has" : "have"} finished`);
    const text = parts.join("; ");
    return `${text[0].toUpperCase()}${text.slice(1)}.`;
  };

  /** Lines from lanes to the cells below them: pairs of a lane and a cell. */
  function wires(pairs, cells) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const path = document.createElementNS(svg.namespaceURI, "path");
    svg.setAttribute("class", "fl-wires");
    svg.setAttribute("viewBox", "0 0 100 10");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    const x = (at, count) => ((100 * (at + 0.5)) / count).toFixed(2);
    path.setAttribute("d", pairs.map(([lane, cell]) => `M${x(lane, LANES)} 0L${x(cell, cells)} 10`).join(""));
    svg.append(path);
    return svg;
  }

  const VERB = { load: "read", store: "write", atomic: "update" };

  /** Draws one access: the lanes, and below them the banks or sectors that they ask for. */
  function access(one) {
    const who = plural(one.offsets.length, "lane");
    const verb = `${VERB[one.kind]}${one.offsets.length === 1 ? "s" : ""}`;
    const asking = new Set(one.offsets.map(([lane]) => lane));
    const strip = element("div", { class: "fl-cells fl-strip" }, ...[...Array(LANES).keys()].map((lane) => element("span", { class: asking.has(lane) ? "fl-asks" : "", title: `lane ${lane} ${asking.has(lane) ? "asks" : "doesn't ask"}` })));
    const draw = (data, text, label, cells, pairs) => element("div", { class: "fl-access", ...data }, element("div", {}, text), strip, wires(pairs, cells.length),
      element("div", { class: "fl-cells", role: "img", "aria-label": label, style: `grid-template-columns: repeat(${cells.length}, 1fr)` }, ...cells));
    const named = (lanes) => lanes.map((lane) => `lane ${lane}`).join(", ") || "no lane";
    if (one.space === "shared") {
      const all = banks(one);
      const worst = Math.max(...all.map((words) => words.size));
      // Wider accesses take several passes anyway, each for a group of lanes whose words fill the banks once.
      const verdict = one.bytes > 4 ? "" : worst > 1 ? `: ${worst} passes, a bank conflict` : ": one pass";
      return draw({ "data-passes": String(worst) }, `${who} ${verb} ${one.bytes} bytes each of shared memory, ${one.place}; below, its 32 banks${verdict}`,
        `words asked of each of 32 banks: ${all.map((words) => words.size).join(" ")}`,
        all.map((words, bank) => element("span", { class: words.size > 1 ? "fl-lit fl-bad" : words.size ? "fl-lit" : "", title: `bank ${bank}: ${named([...words.values()].flat())}` }, words.size || "")),
        all.flatMap((words, bank) => [...words.values()].flat().map((lane) => [lane, bank])));
    }
    const found = sectors(one);
    const numbers = [...found.keys()];
    const [first, last] = [numbers[0], numbers.at(-1)];
    const far = last - first >= 64;
    // Sectors that are far apart are drawn next to each other; otherwise whole lines of four sectors are shown.
    const shown = far ? numbers : [...Array((Math.floor(last / 4) - Math.floor(first / 4) + 1) * 4).keys()].map((at) => Math.floor(first / 4) * 4 + at);
    return draw({ "data-sectors": String(found.size) }, `${who} ${verb} ${one.bytes} bytes each of global memory, ${one.place}: ${plural(found.size, "sector")} of 32 bytes`,
      `lanes in each sector: ${[...found.values()].map((lanes) => lanes.length).join(" ")}`,
      shown.map((sector) => {
        const [lanes, start] = [found.get(sector), sector * SECTOR - one.skew];
        return element("span", { class: lanes ? `fl-lit${far ? " fl-far" : ""}` : "", title: `bytes ${start} to ${start + SECTOR - 1}: ${named(lanes ?? [])}` }, lanes?.length ?? "");
      }),
      shown.flatMap((sector, cell) => (found.get(sector) ?? []).map((lane) => [lane, cell])));
  }

  /** Values from this one on are addresses or bits, and shown in hexadecimal. */
  const LARGE = 1n << 24n;

  /** A register's values in one number base: all decimal, or all hexadecimal if one is an address or bits. */
  function inOneBase(values) {
    if (!values.some((value) => value.startsWith("0x"))) return values;
    const number = (value) => (/^(0x[0-9a-f]+|\d+)$/.test(value) ? BigInt(value) : null);
    const base = values.some((value) => number(value) >= LARGE) ? 16 : 10;
    return values.map((value) => (number(value) === null ? value : `${base === 16 ? "0x" : ""}${number(value).toString(base)}`));
  }

  /** The share of the row's largest value, for the colour, from −1 to 1. Addresses are measured from the lowest one. */
  function shades(values) {
    const numbers = values.map((value) => (value === "true" ? 1 : value === "false" ? 0 : value === "" ? NaN : Number(value)));
    const known = numbers.filter(Number.isFinite);
    const from = values.some((value) => value.startsWith("0x")) ? Math.min(...known) : 0;
    const most = Math.max(...known.map((number) => Math.abs(number - from))) || 1;
    return numbers.map((number) => (Number.isFinite(number) ? (number - from) / most : 0));
  }

  /** Shows a record in `parent`: at a step, or where it faults, or from the beginning. `again(block)` records another block. */
  fourLevels.warpView = (parent, record, { again, moment }) => {
    const { steps, cudaC } = record;
    const at = history(record);
    const numbers = [...new Set(steps.map((step) => step.warp))].sort((a, b) => a - b);
    let now = 0;
    let warp = numbers[0] ?? 0;
    let playing = 0;

    const title = element("div", { class: "fl-moment" });
    const sentence = element("p", { class: "fl-sentence", "aria-live": "polite" });
    const slider = element("input", { type: "range", min: "0", max: String(steps.length), value: "0", class: "fl-slider", "aria-label": "The moment, in instructions of the block", oninput: () => go(Number(slider.value)) });
    const button = (text, label, move) => element("button", { type: "button", "aria-label": label, title: label, onclick: () => { pause(); move(); } }, text);
    const play = element("button", { type: "button", class: "fl-play", onclick: () => (playing ? pause() : begin()) }, "play");
    const warps = element("select", { "aria-label": "The warp", onchange: () => { warp = Number(warps.value); go(now); } },
      ...numbers.map((number) => element("option", { value: String(number) }, `warp ${number}`)));
    const blocks = record.grid.reduce((product, side) => product * side, 1);
    const blockField = element("input", { type: "number", min: "0", max: String(blocks - 1), value: String(record.at[0] + record.grid[0] * (record.at[1] + record.grid[1] * record.at[2])), "aria-label": "The block, by its number in the grid", onchange: () => {
      const number = Math.min(blocks - 1, Math.max(0, Math.floor(Number(blockField.value)) || 0));
      again([number % record.grid[0], Math.floor(number / record.grid[0]) % record.grid[1], Math.floor(number / record.grid[0] / record.grid[1])]);
    } });
    const waiting = element("ul", { class: "fl-warps", "aria-label": "The warps of the block" });
    const accesses = element("div", { class: "fl-accesses" });
    const registers = element("table", { class: "fl-registers" });
    const rest = element("button", { type: "button", "aria-pressed": "false", onclick: () => rest.setAttribute("aria-pressed", String(registers.classList.toggle("fl-all"))) });
    const readout = element("output", { class: "fl-readout" }, "Point at a cell, or tap it, for its number.");
    const fault = record.fault ? element("div", { class: "fl-fault" }, element("strong", {}, record.fault.kind), `: ${record.fault.sentence ?? record.fault.message}`, record.fault.line ? ` (line ${(cudaC && record.fault.cudaLine) || record.fault.line})` : "") : null;

    /** A text of the kernel, in which the lines of all lanes are marked. `lineOf` maps lines of the PTX to its own. */
    function listing(text, lineOf, label) {
      const box = element("ol", { class: "fl-listing", "aria-label": label });
      const executed = new Set(steps.map((step) => lineOf(step.line)));
      const rows = text.replace(/\n$/, "").split("\n").map((text, index) => {
        const row = element("button", { type: "button", tabindex: "-1", onclick: () => { pause(); runTo(index + 1, lineOf); } }, element("span", { class: "fl-number" }, String(index + 1)), element("code", {}, text || " "), element("span", { class: "fl-lanes" }));
        if (executed.has(index + 1)) row.tabIndex = 0; else row.disabled = true;
        box.append(element("li", {}, row));
        return row;
      });
      function draw(live, last) {
        const elsewhere = new Map();
        for (const other of live?.others ?? []) elsewhere.set(lineOf(other.line), [...(elsewhere.get(lineOf(other.line)) ?? []), other]);
        rows.forEach((row, index) => {
          const here = live && lineOf(live.line) === index + 1;
          const there = elsewhere.get(index + 1) ?? [];
          row.classList.toggle("fl-here", Boolean(here));
          row.classList.toggle("fl-there", there.length > 0);
          if (here) row.setAttribute("aria-current", "step"); else row.removeAttribute("aria-current");
          const texts = there.map(({ mask, waits }) => `${plural(lanesOf(mask).length, "lane")}${waits === "turn" ? "" : waits === "lanes" ? " wait for the others" : " wait at the barrier"}`);
          row.lastChild.textContent = [...(here ? [plural(lanesOf(live.mask).length, "lane")] : []), ...texts].join(", ");
        });
        const shown = rows[lineOf((live ?? last)?.line) - 1];
        if (shown) box.scrollTop = shown.offsetTop - box.clientHeight / 2;
      }
      return { box, draw };
    }

    const itself = (line) => line;
    const lineOf = cudaC ? (line) => cudaC.lines[line - 1] : itself;
    const source = listing(cudaC?.text ?? record.source, lineOf, "The kernel: a line runs to itself");
    const compiled = cudaC ? listing(record.source, itself, "The PTX of the kernel: a line runs to itself") : null;
    const ptx = compiled && element("details", { class: "fl-ptx", ontoggle: () => draw() }, element("summary", {}, "The PTX that it is compiled to, step by step"), compiled.box);
    const byLine = () => Boolean(ptx && !ptx.open);

    const indexOf = (from) => steps.findIndex((step, index) => index >= from && step.warp === warp);
    const lastIndex = (before) => { let index = before - 1; while (index >= 0 && steps[index].warp !== warp) index--; return index; };
    /** Whether two steps of a warp, one after the other, belong to one line of CUDA C. A loop's next round is a new line. */
    const together = (one, next) => byLine() && lineOf(one.line) === lineOf(next.line) && one.mask === next.mask && one.function === next.function && one.line < next.line;

    /** The indices of the warp's next instruction from `from` on, or of its whole line. */
    function unit(from) {
      const found = [];
      for (let index = indexOf(from); index >= 0; index = indexOf(index + 1)) {
        if (found.length && !together(steps[found.at(-1)], steps[index])) break;
        found.push(index);
      }
      return found;
    }

    /** The beginning of the instruction or line before the step `before`. */
    function unitBefore(before) {
      let first = lastIndex(before);
      for (let index = lastIndex(first); first > 0 && index >= 0 && together(steps[index], steps[first]); index = lastIndex(first)) first = index;
      return Math.max(0, first);
    }

    /** Goes to the next step at which the warp reaches a line, starting over at the beginning if necessary. */
    function runTo(line, lineOf = itself) {
      const fits = (step) => lineOf(step.line) === line && step.warp === warp;
      const after = (unit(now).at(-1) ?? now) + 1;
      let found = steps.findIndex((step, index) => index >= after && fits(step));
      if (found < 0) found = steps.findIndex(fits);
      if (found < 0) found = steps.findIndex((step) => lineOf(step.line) === line);
      if (found >= 0) go(found, true);
    }

    /** Goes to the state before step `to`; `follow` also selects the warp of that step. */
    function go(to, follow = false) {
      now = Math.min(steps.length, Math.max(0, to));
      if (follow && steps[now]) warp = steps[now].warp;
      draw();
    }

    /** Goes one instruction or line of this warp forwards or backwards. */
    function step(by) {
      if (by < 0) return go(unitBefore(now));
      const next = indexOf((unit(now).at(-1) ?? steps.length) + 1);
      go(next < 0 ? steps.length : next);
    }

    function pause() {
      clearInterval(playing);
      playing = 0;
      play.textContent = "play";
    }
    function begin() {
      if (!unit(now).length) go(0, true);
      playing = setInterval(() => { if (view.isConnected && unit(now).length) step(1); else pause(); }, 900);
      play.textContent = "pause";
    }

    function drawWarps() {
      if (numbers.length === 1) return;
      waiting.replaceChildren(...numbers.map((number) => {
        const before = steps.slice(0, now).findLast((step) => step.warp === number);
        const after = steps.find((step, index) => index >= now && step.warp === number);
        let what = "has not begun";
        if (before && !after) what = record.leftOut || record.fault ? "goes no further in this record" : "is done";
        else if (before?.barrier) what = `has come to the barrier of line ${lineOf(before.line)}`;
        else if (after && steps[now]?.warp === number) what = `is at line ${lineOf(after.line)}`;
        else if (before) what = `goes on at line ${lineOf(after.line)}`;
        return element("li", { class: number === warp ? "fl-chosen" : "", "data-waits": String(Boolean(before?.barrier && after)) },
          element("button", { type: "button", onclick: () => { warp = number; draw(); } }, `warp ${number}`), ` ${what}`);
      }));
    }

    function draw() {
      slider.value = String(now);
      warps.value = String(warp);
      const current = unit(now).map((index) => steps[index]);
      const live = current[0] ?? null;
      const last = steps[lastIndex(now)];
      const text = live && (byLine() ? `line ${lineOf(live.line)}` : live.text);
      title.replaceChildren(`${now} of ${steps.length}: `, live ? element("code", {}, text) : "the warp has nothing left to do");
      sentence.textContent = fourLevels.sentence(current);
      source.draw(live, last);
      if (ptx?.open) compiled.draw(live, last);
      accesses.replaceChildren(...current.flatMap((step) => step.accesses).map(access));
      drawWarps();
      drawRegisters(current, last);
    }

    /** The state of a lane, as a class and in words. */
    function stateOf(live, lane) {
      const waits = (live?.others ?? []).filter((other) => other.waits !== "turn").reduce((mask, other) => mask | other.mask, 0);
      if (!live || !((live.alive >>> lane) & 1)) return ["fl-gone", "has finished"];
      if ((live.active >>> lane) & 1) return ["fl-active", "runs"];
      if ((live.mask >>> lane) & 1) return ["fl-off", "is here, and its predicate is false"];
      if ((waits >>> lane) & 1) return ["fl-waits", "waits"];
      return ["fl-else", "is elsewhere"];
    }

    /** The lanes, and a row for each register with a value. Those that the current instruction or line doesn't name are hidden at first. */
    function drawRegisters(current, last) {
      const live = current[0];
      const values = at(now).get(warp) ?? new Map();
      const fresh = new Map();
      for (let index = lastIndex(now), next = null; index >= 0 && (!next || together(steps[index], next)); index = lastIndex(index)) {
        next = steps[index];
        for (const [register, mask] of next.written) fresh.set(register, (fresh.get(register) ?? 0) | mask);
      }
      const states = [...Array(LANES).keys()].map((lane) => stateOf(live, lane));
      const head = element("tr", {}, element("th", { scope: "col" }, "lane"), ...states.map(([name, text], lane) => element("th", { scope: "col", class: name, title: `lane ${lane} ${text}`, "aria-label": `lane ${lane}, ${text}` }, String(lane))));
      const name = (live ?? last)?.function;
      const rows = record.registers.map((register, number) => [register, number]).filter(([register, number]) => register.function === name && values.has(number));
      const named = new Set(current.flatMap((step) => step.text.match(/%[\w$]+/g) ?? []));
      const inLine = ([register, number]) => named.has(register.name) || fresh.has(number);
      const variables = byLine() ? rows.filter(([register]) => register.variable) : [];
      const shown = new Set((variables.length ? variables : rows).filter(inLine).map(([, number]) => number));
      registers.replaceChildren(element("caption", {}, `${byLine() ? "Variables" : "Registers"} of warp ${warp}, lane by lane`), element("thead", {}, head), element("tbody", {}, ...rows.map(([register, number]) => {
        const texts = inOneBase(values.get(number));
        const shade = shades(texts);
        const label = register.variable ?? register.name;
        return element("tr", { "data-register": register.name, class: shown.has(number) ? "" : "fl-rest" },
          element("th", { scope: "row", title: `${label}${register.variable ? ` in ${register.name}` : ""}, .${register.type}` }, label),
          ...texts.map((value, lane) => element("td", {
            class: [(fresh.get(number) >>> lane) & 1 ? "fl-fresh" : "", value.length > 4 ? "fl-long" : value.length > 3 ? "fl-wide" : "", shade[lane] < 0 ? "fl-minus" : ""].join(" "),
            style: value === "" ? null : `--share: ${Math.round(10 + 90 * Math.abs(shade[lane]))}%`, title: `${label} of lane ${lane} is ${value || "not set"}`,
          }, element("span", {}, value))));
      })));
      rest.textContent = `all ${rows.length} registers`;
      rest.hidden = shown.size === rows.length;
    }

    const swatch = (name, text) => element("span", {}, element("i", { class: name }), ` ${text}`);
    const legend = element("div", { class: "fl-legend", role: "group", "aria-label": "Legend" },
      swatch("fl-active", "runs"), swatch("fl-off", "predicate false"), swatch("fl-waits", "waits"), swatch("fl-else", "elsewhere"), swatch("fl-gone", "finished"),
      swatch("fl-plus", "large value"), swatch("fl-minus", "negative value"), swatch("fl-fresh", "just written"));
    const view = element("div", { class: "fl-view", tabindex: "0", role: "group", "aria-label": "A look into a warp: arrow keys step" },
      element("div", { class: "fl-bar" },
        button("|◀", "to the beginning", () => go(0, true)), button("◀", "one instruction of this warp back", () => step(-1)),
        button("▶", "one instruction of this warp further", () => step(1)), button("▶|", "to the end", () => go(steps.length)), play,
        slider, numbers.length > 1 ? warps : null, blocks > 1 ? element("label", {}, "block ", blockField, ` of ${blocks}`) : null),
      title, sentence, fault,
      record.leftOut ? element("p", {}, `The record ends here: the block executes ${record.leftOut} instructions more.`) : null,
      element("div", { class: "fl-split" }, source.box, numbers.length > 1 ? element("div", { class: "fl-side" }, waiting) : null),
      registers, element("div", { class: "fl-bar" }, rest, readout), accesses, legend, ptx);
    // The text of a cell's title, for those who can't point, or would have to wait.
    for (const name of ["pointerover", "click"]) {
      view.addEventListener(name, (event) => {
        const cell = event.target.closest("td, thead th, .fl-cells span");
        if (cell?.title) readout.textContent = cell.title;
      });
    }
    view.addEventListener("keydown", (event) => {
      // In the book, arrow keys turn pages. Fields and lists have their own use for them.
      event.stopPropagation();
      if (event.target.matches("input, select")) return;
      const moves = { ArrowRight: () => step(1), ArrowLeft: () => step(-1), Home: () => go(0, true), End: () => go(steps.length), PageDown: () => go(now + 10), PageUp: () => go(now - 10) };
      if (!moves[event.key]) return;
      event.preventDefault();
      pause();
      moves[event.key]();
    });
    /** The last step that the faulting warp began: what it was about to do when the launch ended. */
    function faulted() {
      const [x, y, z] = record.fault.thread ?? [0, 0, 0];
      const its = Math.floor((x + record.block[0] * (y + record.block[1] * z)) / LANES);
      const step = steps.findLastIndex((step) => step.warp === its && step.line === record.fault.line);
      return step < 0 ? null : { warp: its, step };
    }

    parent.replaceChildren(view);
    moment ??= record.fault ? faulted() : null;
    if (moment) {
      warp = moment.warp;
      // The whole line, and not its rest.
      if (byLine()) moment.step = unitBefore(moment.step + 1);
      go(moment.step);
    } else go(0, true);
    view.focus({ preventScroll: Boolean(moment) });
    return { go, step, runTo, end: () => go(steps.length) };
  };
})();
