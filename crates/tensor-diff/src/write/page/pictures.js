
/** The pixels of the batch of each candidate, unpacked once. */
const batches = new Map();
async function batch(pair) {
  const images = DATA.images[pair];
  if (!images) return null;
  if (!batches.has(pair)) batches.set(pair, unpack(images.pixels));
  return { side: images.side, pixels: await batches.get(pair) };
}

/** Draws a sample dark on light, as on paper. */
function sample(images, n) {
  const { side, pixels } = images;
  const grey = (k) => Array(3).fill(255 - pixels[n * side * side + k]);
  const canvas = paint(element("canvas"), side, side, grey);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `sample ${n}`);
  return canvas;
}

/** The batch's images in a column next to the rows of a map, if the rows are high enough. */
async function imagesBeside(tensor, height) {
  const images = tensor.samples && !tensor.index ? await batch(tensor.pair) : null;
  const each = height / tensor.rows;
  if (!images || each < 20) return null;
  const strip = element("div");
  for (let n = 0; n < tensor.rows; n++) {
    const canvas = sample(images, n);
    canvas.style.width = canvas.style.height = `${each}px`;
    strip.append(canvas);
  }
  return strip;
}

/** Rows as pictures: those of weights, and the samples that rows belong to. */
class Pictures {
  constructor(maps) {
    this.maps = maps;
    this.place = element("div");
    this.current = element("div", { className: "pictures" });
    this.place.append(this.current);
  }

  async load() {
    const { tensor, numbers } = this.maps;
    this.images = tensor.samples ? await batch(tensor.pair) : null;
    if (!tensor.side || tensor.samples) return;
    if (tensor.index) {
      this.rows = tensor.kept.rows;
      this.numbers = await Numbers.of(tensor.kept);
    } else {
      this.rows = Array.from({ length: tensor.rows }, (_, row) => row);
      this.numbers = numbers;
    }
    const gallery = element("div", { className: "gallery" });
    const shown = this.rows.slice(0, 100);
    for (const [n, row] of shown.entries()) gallery.append(this.button(n, row));
    const total = tensor.shape[0];
    const all = shown.length === total ? "all" : `${shown.length} of ${total}`;
    this.place.append(
      element("h3", { textContent: `Rows as pictures of ${tensor.side} × ${tensor.side}: the candidate's, ${all}; double frame: an element is outside` }),
      gallery,
    );
  }

  /** A picture of row `n` of those that are whole. */
  picture(n, side) {
    const { width, side: pixels } = this.maps.tensor;
    const { numbers } = this;
    const from = n * width;
    let most = 0;
    for (const values of [numbers.expected, numbers.candidate]) {
      for (const value of values ? values.subarray(from, from + width) : []) {
        if (Number.isFinite(value)) most = Math.max(most, Math.abs(value));
      }
    }
    const colour = (k) =>
      side === "error" ? errorColour(numbers.ratio(from + k)) : valueColour(numbers[side][from + k], most);
    return paint(element("canvas"), pixels, pixels, colour);
  }

  button(n, row) {
    const { width } = this.maps.tensor;
    const { numbers } = this;
    let worst = n * width;
    let outside = false;
    for (let k = n * width; k < (n + 1) * width; k++) {
      const ratio = numbers.ratio(k);
      if (numbers.expected && numbers.candidate && !(ratio <= 1)) outside = true;
      if (ratio > numbers.ratio(worst)) worst = k;
    }
    const side = numbers.candidate ? "candidate" : "expected";
    const label = `row ${row}${outside ? ", outside" : ""}`;
    const button = element("button", { type: "button", title: label }, this.picture(n, side));
    button.setAttribute("aria-label", label);
    if (outside) button.className = "outside";
    button.addEventListener("click", () => {
      const { index } = this.maps;
      const flat = row * width + (worst % width);
      const cell = index ? index.findIndex((i) => Math.floor(i / width) === row) : flat;
      if (cell >= 0) this.maps.move(cell);
    });
    return button;
  }

  /** Shows the sample or the weights of the cursor's row. */
  show(row) {
    const figures = [];
    const add = (canvas, text) =>
      figures.push(element("figure", {}, canvas, element("figcaption", { textContent: text })));
    if (this.images && (row + 1) * this.images.side ** 2 <= this.images.pixels.length) {
      add(sample(this.images, row), `sample ${row}`);
    }
    const n = this.rows ? this.rows.indexOf(row) : -1;
    if (n >= 0) {
      const { expected, candidate } = this.numbers;
      const name = this.maps.place.dataset.expected;
      if (expected) add(this.picture(n, "expected"), `row ${row}, ${name}`);
      if (candidate) add(this.picture(n, "candidate"), `row ${row}, candidate`);
      if (expected && candidate) add(this.picture(n, "error"), `row ${row}, error`);
    }
    this.current.replaceChildren(...figures);
  }
}
