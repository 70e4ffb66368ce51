// Results of a launch: buffers as heat maps and tables, and the fault.
"use strict";

(() => {
  const { element } = fourLevels;

  /** Maximum number of cells of a table. */
  const MOST_CELLS = 256;

  const finite = (value) => typeof value === "number" && Number.isFinite(value);

  /** From blue over white to red, or from white to red if nothing is negative. */
  function colour(value, low, high) {
    if (!finite(value)) return [120, 0, 160];
    const most = Math.max(Math.abs(low), Math.abs(high)) || 1;
    const part = value / most;
    const [r, g, b] = part < 0 ? [37, 99, 170] : [190, 50, 35];
    const mix = (to) => Math.round(245 + (to - 245) * Math.abs(part));
    return [mix(r), mix(g), mix(b)];
  }

  /** A heat map of numbers, with `columns` squares in a row. */
  fourLevels.heatMap = (values, columns, label) => {
    const rows = Math.ceil(values.length / columns);
    const canvas = element("canvas", { class: "fl-map", width: columns, height: rows, role: "img", "aria-label": label });
    const context = canvas.getContext("2d");
    const image = context.createImageData(columns, rows);
    const numbers = values.filter(finite);
    const low = numbers.reduce((a, b) => Math.min(a, b), 0);
    const high = numbers.reduce((a, b) => Math.max(a, b), 0);
    values.forEach((value, at) => image.data.set([...colour(value, low, high), 255], at * 4));
    context.putImageData(image, 0, 0);
    canvas.style.aspectRatio = `${columns} / ${rows}`;
    canvas.style.width = `min(100%, ${Math.max(2, Math.min(14, Math.floor(448 / columns))) * columns}px)`;
    return canvas;
  };

  /** The default number of columns for a heat map. */
  function usual(length) {
    const side = Math.round(Math.sqrt(length));
    if (side > 4 && side * side === length) return side;
    return Math.min(length, 32);
  }

  function table(values, columns) {
    const shown = values.slice(0, MOST_CELLS);
    const wide = Math.min(columns, 16);
    const rows = [];
    for (let at = 0; at < shown.length; at += wide) {
      rows.push(element("tr", {}, element("th", { scope: "row" }, String(at)), ...shown.slice(at, at + wide).map((value) => element("td", {}, String(value)))));
    }
    const left = values.length - shown.length;
    return element("div", { class: "fl-scroll", tabindex: "0", role: "group", "aria-label": "The elements" }, element("table", { class: "fl-table" }, ...rows),
      left > 0 ? element("p", {}, `… and ${left} more`) : null);
  }

  /**
   * One buffer, which is collapsed if the kernel did not change it. If the reader has edited the kernel, what the book's
   * kernel computes (`unedited`) is shown next to it where it differs.
   */
  function buffer({ place, type, length, changed, values }, unedited) {
    const body = element("div");
    const first = unedited ? values.findIndex((value, at) => value !== unedited.values[at]) : -1;
    const draw = (columns) => {
      const label = `${place}, ${length} elements, ${columns} to a row`;
      const own = [fourLevels.heatMap(values, columns, label), table(values, columns)];
      body.replaceChildren(...(first < 0 ? own : [element("p", { class: "fl-differs" }, `Element ${first} is ${values[first]}; with the book's kernel it is ${unedited.values[first]}.`),
        element("div", { class: "fl-columns" }, element("div", {}, "yours", ...own), element("div", {}, "the book's", fourLevels.heatMap(unedited.values, columns, `${label}, with the book's kernel`), table(unedited.values, columns)))]));
    };
    const width = element("input", { type: "number", min: "1", max: "1024", value: String(usual(length)), onchange: () => draw(Math.min(1024, Math.max(1, Math.floor(Number(width.value)) || 1))) });
    draw(usual(length));
    return element("details", { class: "fl-buffer", open: changed || first >= 0, "data-place": place },
      element("summary", {}, `${place}: ${type}[${length}]${changed ? "" : ", as before"}`),
      element("label", {}, "elements to a row ", width), body);
  }

  const place = ([x, y, z]) => `(${x}, ${y}, ${z})`;

  /** A fault, with buttons that lead to its lines, and to the warp (`look`). */
  function fault(found, { isCuda, select, look }) {
    const line = (ptx, cuda) => (isCuda ? cuda : ptx);
    const where = (ptx, cuda) => {
      const number = line(ptx, cuda);
      return number ? element("button", { type: "button", onclick: () => select(number) }, `line ${number}`) : "";
    };
    const who = (block, thread) => (block && thread ? `block ${place(block)}, thread ${place(thread)}` : "");
    return element("div", { class: "fl-fault", role: "alert" },
      element("strong", {}, found.kind), `: ${found.sentence ?? found.message} `,
      element("div", {}, where(found.line, found.cudaLine), ` ${who(found.block, found.thread)}`, found.address && !found.sentence ? `, address ${found.address}` : ""),
      found.other ? element("div", {}, `${found.other.wrote ? "written" : "read"} before: `, where(found.other.line, found.other.cudaLine), ` ${who(found.other.block, found.other.thread)}`) : null,
      ...found.notes.map((note) => element("div", {}, note)),
      look ? element("div", {}, element("button", { type: "button", class: "fl-look-into", onclick: look }, "look into it"), " the warp at this instruction") : null);
  }

  /** The counts of each line, for the margin: of an instruction, or of all instructions of a line of CUDA C. */
  fourLevels.costs = (counts, isCuda) => {
    const lines = new Map();
    for (const count of counts) {
      const sum = lines.get(count.line) ?? { executions: 0, lanes: 0, requests: 0, sectors: 0, sharedRequests: 0, passes: 0 };
      for (const key of Object.keys(sum)) sum[key] += count[key];
      lines.set(count.line, sum);
    }
    for (const [line, sum] of lines) {
      const parts = [isCuda ? `${sum.executions} instructions of warps` : `${sum.executions}×`];
      if (sum.executions) parts.push(`${(sum.lanes / sum.executions).toFixed(sum.lanes % sum.executions ? 1 : 0)} lanes`);
      if (sum.requests) parts.push(`${(sum.sectors / sum.requests).toFixed(1)} sectors for each access`);
      if (sum.sharedRequests) parts.push(`${(sum.passes / sum.sharedRequests).toFixed(1)} passes`);
      lines.set(line, { ...sum, short: String(sum.executions), text: parts.join(", ") });
    }
    return lines;
  };

  /** Shows the answer to a command. */
  fourLevels.showOutcome = (parent, answer, options) => {
    parent.replaceChildren();
    const text = element("pre", { class: "fl-text", tabindex: "0", "aria-label": "Output of the command" }, element("code", {}, answer.text));
    // A fault is shown once; the text of a terminal is there for who compares.
    if (answer.fault) parent.append(fault(answer.fault, options), element("details", {}, element("summary", {}, "The same as at a terminal"), text));
    else parent.append(text);
    if (answer.buffers) parent.append(...answer.buffers.map((one, index) => buffer(one, options.unedited?.[index])));
  };
})();
