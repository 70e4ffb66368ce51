
/** The colours of a table of hex digits, as [r, g, b] each. */
function colours(table) {
  return table.match(/.{6}/g).map((c) => [0, 2, 4].map((at) => parseInt(c.slice(at, at + 2), 16)));
}
const VALUES = colours(DATA.values);
const ERRORS = colours(DATA.errors);
const BEYOND = colours(DATA.beyond)[0];
const WHITE = [255, 255, 255];

/** The colour of a value on a scale from -most to most; what isn't finite is black. */
function valueColour(value, most) {
  if (!Number.isFinite(value)) return [0, 0, 0];
  const share = most > 0 ? value / most : 0;
  return VALUES[Math.round(127.5 + 127.5 * Math.max(-1, Math.min(1, share)))];
}

/** The colour of an error as a multiple of its bound. */
function errorColour(ratio) {
  if (Number.isNaN(ratio)) return WHITE;
  return ratio > 1 ? BEYOND : ERRORS[Math.round(255 * ratio)];
}

/** Fills a canvas of one pixel a cell. */
function paint(canvas, rows, columns, colour) {
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  for (let k = 0; k < rows * columns; k++) {
    const [r, g, b] = colour(k);
    image.data.set([r, g, b, 255], 4 * k);
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

/** The numbers of one tensor, or of some rows of it. */
class Numbers {
  static async of(packed) {
    const made = new Numbers();
    for (const side of ["expected", "candidate", "allowed"]) made[side] = await unpack(packed[side]);
    return made;
  }

  error(k) {
    return Math.abs(this.candidate[k] - this.expected[k]);
  }

  /** The error as a multiple of its bound; NaN if one of them is unknown. */
  ratio(k) {
    if (!this.expected || !this.candidate) return NaN;
    const error = this.error(k);
    const allowed = this.allowed ? this.allowed[k] : NaN;
    return error === 0 && allowed >= 0 ? 0 : error / allowed;
  }

  /** The largest finite value of both sides. */
  largest() {
    let most = 0;
    for (const side of [this.expected, this.candidate]) {
      for (const value of side ?? []) if (Number.isFinite(value)) most = Math.max(most, Math.abs(value));
    }
    return most;
  }
}

/** The heat maps of a tensor, with one cursor over all. */
class Maps {
  /** Where the pointer was seen last. */
  static pointer = {};

  constructor(id, place) {
    this.tensor = DATA.tensors[id];
    this.place = place;
    this.at = 0;
  }

  async draw() {
    const { tensor, place } = this;
    this.numbers = await Numbers.of(tensor);
    this.index = await unpack(tensor.index);
    this.most = this.numbers.largest();
    const panels = element("div", { className: tensor.columns > 40 ? "panels wide" : "panels" });
    this.cursors = [];
    const expected = place.dataset.expected;
    const sides = { expected, candidate: "candidate", error: "error as a multiple of its bound" };
    for (const [side, name] of Object.entries(sides)) {
      const both = this.numbers.expected && this.numbers.candidate;
      if (side === "error" ? both : this.numbers[side]) panels.append(await this.panel(side, name));
    }
    this.readout = element("output", { className: "readout" });
    this.pictures = new Pictures(this);
    await this.pictures.load();
    const hint = "Arrow keys move the cursor, Home and End to the ends of the row, Page Up and Page Down ten rows, W to the worst element.";
    place.tabIndex = 0;
    place.setAttribute("role", "application");
    place.setAttribute("aria-label", `Heat maps of ${tensor.name}. ${hint}`);
    place.append(panels, this.readout, this.pictures.place, element("p", { className: "soft", textContent: hint }));
    place.addEventListener("keydown", (event) => this.key(event));
    this.move(this.worst());
  }

  /** The size of the maps on the page, in pixels. */
  size() {
    const { rows, columns } = this.tensor;
    const within = (low, high, value) => Math.max(low, Math.min(high, Math.floor(value)));
    const room = columns > 40 ? 800 : 280;
    return [columns * within(1, 28, room / columns), rows * within(2, 28, 420 / rows)];
  }

  async panel(side, name) {
    const { rows, columns } = this.tensor;
    const canvas = paint(element("canvas"), rows, columns, (k) =>
      side === "error" ? errorColour(this.numbers.ratio(k)) : valueColour(this.numbers[side][k], this.most));
    const cursor = element("div", { className: "cursor" });
    this.cursors.push(cursor);
    const map = element("div", { className: "map" }, canvas, cursor);
    map.dataset.side = side;
    const [width, height] = this.size();
    map.style.width = `${width}px`;
    map.style.height = `${height}px`;
    const point = (event) => {
      // Where the page moves under a pointer that rests, the keyboard keeps the cursor.
      // The browser's value may lack the fraction of a pixel.
      const near = (a, b) => Math.abs(a - b) < 1;
      const rests = event.type === "pointermove" && near(event.clientX, Maps.pointer.x) && near(event.clientY, Maps.pointer.y);
      Maps.pointer = { x: event.clientX, y: event.clientY };
      if (rests) return;
      const box = canvas.getBoundingClientRect();
      const cell = (part, n) => Math.max(0, Math.min(n - 1, Math.floor(part * n)));
      const row = cell((event.clientY - box.top) / box.height, rows);
      this.move(row * columns + cell((event.clientX - box.left) / box.width, columns));
    };
    map.addEventListener("pointermove", point);
    map.addEventListener("pointerdown", point);
    const beside = element("div", { className: "beside" });
    const strip = await imagesBeside(this.tensor, height);
    if (strip) beside.append(strip);
    beside.append(map);
    return element("figure", {}, element("figcaption", { textContent: name }), beside, this.key_of(side));
  }

  /** The meaning of a map's colours. */
  key_of(side) {
    const bar = element("canvas");
    if (side === "error") {
      paint(bar, 1, 256, (k) => ERRORS[k]);
      const beyond = element("span", { className: "beyond" });
      beyond.style.background = `rgb(${BEYOND})`;
      return element("div", { className: "key" }, "0", bar, "1", beyond, "beyond; white: not finite");
    }
    paint(bar, 1, 256, (k) => VALUES[k]);
    const most = this.most.toPrecision(3);
    return element("div", { className: "key" }, `−${most}`, bar, most);
  }

  /** The cell of the worst element. */
  worst() {
    const { tensor } = this;
    if (!tensor.worst) return 0;
    const cell = this.index ? this.index.indexOf(tensor.worst.index) : tensor.worst.index;
    return Math.max(0, cell);
  }

  key(event) {
    const { rows, columns } = this.tensor;
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const column = this.at % columns;
    const row = (this.at - column) / columns;
    const go = (r, c) => Math.max(0, Math.min(rows - 1, r)) * columns + Math.max(0, Math.min(columns - 1, c));
    const keys = {
      ArrowLeft: () => go(row, column - 1),
      ArrowRight: () => go(row, column + 1),
      ArrowUp: () => go(row - 1, column),
      ArrowDown: () => go(row + 1, column),
      PageUp: () => go(row - 10, column),
      PageDown: () => go(row + 10, column),
      Home: () => go(row, 0),
      End: () => go(row, columns - 1),
      w: () => this.worst(),
      W: () => this.worst(),
    };
    const key = keys[event.key];
    if (!key) return;
    event.preventDefault();
    this.move(key());
  }

  /** The element that a cell shows. */
  element(cell) {
    return this.index ? this.index[cell] : cell;
  }

  /** The place of an element in the tensor, as the reports write it. */
  where(flat) {
    const { shape } = this.tensor;
    const place = [];
    for (const axis of [...shape].reverse()) {
      place.unshift(flat % axis);
      flat = Math.floor(flat / axis);
    }
    return `[${place.join(", ")}]`;
  }

  /** Puts the cursor on a cell, in every map, and says what is there. */
  move(cell) {
    this.at = cell;
    const { rows, columns, worst } = this.tensor;
    const percent = (n, of) => `${(100 * n) / of}%`;
    for (const cursor of this.cursors) {
      cursor.style.left = percent(cell % columns, columns);
      cursor.style.top = percent(Math.floor(cell / columns), rows);
      cursor.style.width = percent(1, columns);
      cursor.style.height = percent(1, rows);
    }
    const flat = this.element(cell);
    const { numbers } = this;
    const fields = [["element", "index", this.where(flat)]];
    for (const [side, name] of [["expected", this.place.dataset.expected], ["candidate", "candidate"]]) {
      const values = numbers[side];
      if (values) fields.push([name, side, decimal(values[cell], values instanceof Float32Array)]);
    }
    if (numbers.expected && numbers.candidate) {
      // The bounds are rounded to single precision, except the worst element's.
      const there = worst && worst.index === flat ? worst : null;
      const error = there ? there.error : numbers.error(cell);
      const allowed = there ? there.allowed : numbers.allowed ? numbers.allowed[cell] : NaN;
      const ratio = Number(there ? there.ratio : numbers.ratio(cell));
      fields.push(["error", "error", decimal(Number(error), false)]);
      fields.push(["allowed", "allowed", decimal(Number(allowed), !there)]);
      const times = Number.isFinite(ratio) ? ratio.toPrecision(3) : String(ratio);
      fields.push(["error / allowed", "ratio", `${times}${ratio <= 1 ? "" : " ✗"}`]);
    }
    this.readout.replaceChildren(
      ...fields.map(([name, field, text]) => {
        const value = element("b", { textContent: text });
        value.dataset.field = field;
        return element("span", {}, `${name} `, value);
      }),
    );
    this.pictures.show(Math.floor(flat / this.tensor.width));
  }
}
