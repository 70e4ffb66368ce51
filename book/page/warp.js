// The view of a block's warps: running lanes, registers, accesses, waiting warps. The whole launch is recorded first, and
// the view shows any step of it.
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

  const verb = { load: "reads", store: "writes", atomic: "updates" };
  const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

  /** Draws one access. */
  function access(one) {
    const lanes = plural(one.offsets.length, "lane");
    if (one.space === "shared") {
      const all = banks(one);
      const worst = Math.max(...all.map((words) => words.size));
      // Wider accesses take several passes anyway, each for a group of lanes whose words fill the banks once.
      const verdict = one.bytes > 4 ? "" : worst > 1 ? `: ${worst} passes, a bank conflict` : ": one pass";
      return element("div", { class: "fl-access", "data-passes": String(worst) },
        element("div", {}, `${verb[one.kind]} ${one.bytes} bytes of shared memory (${one.place}) in ${lanes}${verdict}`),
        element("div", { class: "fl-cells", role: "img", "aria-label": `words asked of each of 32 banks: ${all.map((words) => words.size).join(" ")}` },
          ...all.map((words, bank) => element("span", { class: words.size > 1 ? "fl-lit fl-bad" : words.size ? "fl-lit" : "", title: `bank ${bank}: ${[...words.values()].flat().map((lane) => `lane ${lane}`).join(", ") || "no lane"}` }, words.size || ""))));
    }
    const found = sectors(one);
    const numbers = [...found.keys()];
    const first = numbers[0];
    const last = numbers[numbers.length - 1];
    const cells = [];
    if (last - first < 64) {
      for (let sector = Math.floor(first / 4) * 4; sector <= last || sector % 4; sector++) {
        const lanes = found.get(sector);
        cells.push(element("span", { class: lanes ? "fl-lit" : "", title: `bytes ${sector * SECTOR - one.skew} to ${sector * SECTOR - one.skew + SECTOR - 1}: ${lanes?.map((lane) => `lane ${lane}`).join(", ") ?? "no lane"}` }, lanes?.length ?? ""));
      }
    } else {
      for (const [sector, lanes] of found) cells.push(element("span", { class: "fl-lit fl-far", title: `byte ${sector * SECTOR - one.skew}: ${lanes.map((lane) => `lane ${lane}`).join(", ")}` }, lanes.length));
    }
    return element("div", { class: "fl-access", "data-sectors": String(found.size) },
      element("div", {}, `${verb[one.kind]} ${one.bytes} bytes of global memory (${one.place}) in ${lanes}: ${plural(found.size, "sector")} of 32 bytes`),
      element("div", { class: "fl-cells", role: "img", "aria-label": `lanes in each sector: ${[...found.values()].map((lanes) => lanes.length).join(" ")}` }, ...cells));
  }

  /** Shows a record in `parent`: at a step, or where it faults, or from the beginning. `again(block)` records another block. */
  fourLevels.warpView = (parent, record, { again, moment }) => {
    const { steps } = record;
    const at = history(record);
    const numbers = [...new Set(steps.map((step) => step.warp))].sort((a, b) => a - b);
    let now = 0;
    let warp = numbers[0] ?? 0;

    const title = element("div", { class: "fl-moment", "aria-live": "polite" });
    const slider = element("input", { type: "range", min: "0", max: String(steps.length), value: "0", class: "fl-slider", "aria-label": "The moment, in instructions of the block", oninput: () => go(Number(slider.value)) });
    const button = (text, label, move) => element("button", { type: "button", "aria-label": label, title: label, onclick: move }, text);
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
    const listing = element("ol", { class: "fl-listing", "aria-label": "The kernel: a line runs to itself" });
    const fault = record.fault ? element("div", { class: "fl-fault" }, element("strong", {}, record.fault.kind), `: ${record.fault.message}`, record.fault.line ? ` (line ${record.fault.line})` : "") : null;

    const lineButtons = record.source.split("\n").map((text, index) => {
      const line = element("button", { type: "button", tabindex: "-1", onclick: () => runTo(index + 1) }, element("span", { class: "fl-number" }, String(index + 1)), element("code", {}, text || " "), element("span", { class: "fl-lanes" }));
      listing.append(element("li", {}, line));
      return line;
    });
    const executed = new Set(steps.map((step) => step.line));
    lineButtons.forEach((line, index) => { if (executed.has(index + 1)) line.tabIndex = 0; else line.disabled = true; });

    /** Goes to the next step at which the warp reaches a line, starting over at the beginning if necessary. */
    function runTo(line) {
      const fits = (step) => step.line === line && step.warp === warp;
      let found = steps.findIndex((step, index) => index > now && fits(step));
      if (found < 0) found = steps.findIndex(fits);
      if (found < 0) found = steps.findIndex((step) => step.line === line);
      if (found >= 0) go(found, true);
    }

    /** Goes to the state before step `to`; `follow` also selects the warp of that step. */
    function go(to, follow = false) {
      now = Math.min(steps.length, Math.max(0, to));
      if (follow && steps[now]) warp = steps[now].warp;
      draw();
    }

    /** Goes one instruction of this warp forwards or backwards. */
    const step = (by) => {
      let next = now;
      if (by > 0) {
        next = steps.findIndex((step, index) => index > now && step.warp === warp);
        if (next < 0) next = steps.length;
      } else {
        next = now - 1;
        while (next > 0 && steps[next].warp !== warp) next--;
      }
      go(next);
    };

    function drawWarps() {
      waiting.replaceChildren(...numbers.map((number) => {
        const before = steps.slice(0, now).findLast((step) => step.warp === number);
        const after = steps.find((step, index) => index >= now && step.warp === number);
        let what = "has not begun";
        if (before && !after) what = record.leftOut || record.fault ? "goes no further in this record" : "is done";
        else if (before?.barrier) what = `has come to the barrier of line ${before.line}`;
        else if (after && steps[now]?.warp === number) what = `is at line ${after.line}`;
        else if (before) what = `goes on at line ${after.line}`;
        return element("li", { class: number === warp ? "fl-chosen" : "", "data-waits": String(Boolean(before?.barrier && after)) },
          element("button", { type: "button", onclick: () => { warp = number; draw(); } }, `warp ${number}`), ` ${what}`);
      }));
    }

    function draw() {
      slider.value = String(now);
      warps.value = String(warp);
      const current = steps[now]?.warp === warp ? steps[now] : steps.find((step, index) => index >= now && step.warp === warp);
      const last = steps.slice(0, now).findLast((step) => step.warp === warp);
      const live = current ?? null;
      title.replaceChildren(`${now} of ${steps.length}: `,
        live ? element("code", {}, live.text) : "the warp has nothing left to do",
        live && live.active !== live.mask ? ` (the predicate is false in ${plural(lanesOf(live.mask & ~live.active).length, "lane")})` : "");
      const elsewhere = new Map();
      for (const other of live?.others ?? []) elsewhere.set(other.line, [...(elsewhere.get(other.line) ?? []), other]);
      lineButtons.forEach((line, index) => {
        const number = index + 1;
        const here = live?.line === number;
        line.classList.toggle("fl-here", here);
        const there = elsewhere.get(number);
        line.classList.toggle("fl-there", Boolean(there));
        if (here) line.setAttribute("aria-current", "step"); else line.removeAttribute("aria-current");
        line.lastChild.textContent = here ? plural(lanesOf(live.mask).length, "lane")
          : there ? there.map(({ mask, waits }) => `${plural(lanesOf(mask).length, "lane")}${waits === "turn" ? "" : waits === "lanes" ? " wait for the others" : " wait at the barrier"}`).join(", ") : "";
      });
      const shown = lineButtons[(live ?? last)?.line - 1];
      if (shown) listing.scrollTop = shown.offsetTop - listing.clientHeight / 2;
      accesses.replaceChildren(...(live?.accesses ?? []).map(access));
      drawWarps();
      drawRegisters(live, last);
    }

    function drawRegisters(live, last) {
      const values = at(now).get(warp) ?? new Map();
      const fresh = new Map((last?.written ?? []).map(([register, mask]) => [register, mask]));
      const waits = (live?.others ?? []).filter((other) => other.waits !== "turn").reduce((mask, other) => mask | other.mask, 0);
      const state = (lane) => {
        if (!live || !((live.alive >>> lane) & 1)) return ["fl-gone", "has exited"];
        if ((live.active >>> lane) & 1) return ["fl-active", "runs"];
        if ((live.mask >>> lane) & 1) return ["fl-off", "is here, and its predicate is false"];
        if ((waits >>> lane) & 1) return ["fl-waits", "waits"];
        return ["fl-else", "is elsewhere"];
      };
      const head = element("tr", {}, element("th", { scope: "col" }, "lane"), ...[...Array(LANES).keys()].map((lane) => {
        const [name, text] = state(lane);
        return element("th", { scope: "col", class: name, title: `lane ${lane} ${text}`, "aria-label": `lane ${lane}, ${text}` }, String(lane));
      }));
      const name = (live ?? last)?.function;
      const rows = record.registers.map((register, number) => [register, number]).filter(([register, number]) => register.function === name && values.has(number));
      registers.replaceChildren(element("caption", {}, `Registers of warp ${warp}, lane by lane`), element("thead", {}, head), element("tbody", {}, ...rows.map(([register, number]) =>
        element("tr", { "data-register": register.name }, element("th", { scope: "row", title: `.${register.type}` }, register.name), ...values.get(number).map((value, lane) =>
          element("td", { class: [(fresh.get(number) >>> lane) & 1 ? "fl-fresh" : "", state(lane)[0]].join(" "), title: `${register.name} of lane ${lane}` }, value))))));
    }

    const view = element("div", { class: "fl-view", tabindex: "0", role: "group", "aria-label": "A look into a warp: arrow keys step" },
      element("div", { class: "fl-bar" },
        button("|◀", "to the beginning", () => go(0, true)), button("◀", "one instruction of this warp back", () => step(-1)),
        button("▶", "one instruction of this warp further", () => step(1)), button("▶|", "to the end", () => go(steps.length)),
        slider, warps, blocks > 1 ? element("label", {}, "block ", blockField, ` of ${blocks}`) : null),
      title, fault,
      record.leftOut ? element("p", {}, `The record ends here: the block executes ${record.leftOut} instructions more.`) : null,
      element("div", { class: "fl-split" }, listing, element("div", { class: "fl-side" }, waiting, accesses)),
      element("div", { class: "fl-scroll", tabindex: "0", role: "group", "aria-label": "Registers" }, registers));
    view.addEventListener("keydown", (event) => {
      // In the book, arrow keys turn pages. Fields and lists have their own use for them.
      event.stopPropagation();
      if (event.target.matches("input, select, .fl-scroll")) return;
      const moves = { ArrowRight: () => step(1), ArrowLeft: () => step(-1), Home: () => go(0, true), End: () => go(steps.length), PageDown: () => go(now + 10), PageUp: () => go(now - 10) };
      if (!moves[event.key]) return;
      event.preventDefault();
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
    if (moment) { warp = moment.warp; go(moment.step); } else go(0, true);
    view.focus({ preventScroll: Boolean(moment) });
    return { go, step, runTo, end: () => go(steps.length) };
  };
})();
