"use strict";
const DATA = JSON.parse(document.getElementById("data").textContent);

/** Unpacks an array of numbers; null stays null. */
async function unpack(packed) {
  if (!packed) return null;
  const bytes = Uint8Array.from(atob(packed.data), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  const kinds = { u1: Uint8Array, u4: Uint32Array, f4: Float32Array, f8: Float64Array };
  return new kinds[packed.kind](buffer);
}

/** A number as a dump writes it: the shortest decimal that reads back as the same bits. */
function decimal(value, single) {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "Infinity" : "-Infinity";
  if (!single) return String(value);
  for (let digits = 1; digits <= 9; digits++) {
    const text = Number(value.toPrecision(digits));
    if (Math.fround(text) === value) return String(text);
  }
  return String(value);
}

/** Makes an element; strings become text nodes, never HTML. */
function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}
