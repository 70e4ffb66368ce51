// Tests of syntax colours: mdBook's for most languages, and this book's own for PTX. They also pass for a book that was built
// without its kernels.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The words of each class of colours on a page, and the colours of its first block of a language. */
const drawn = (page, language) => page.evaluate((language) => {
  const block = document.querySelector(`pre code.language-${language}`);
  const words = (kind) => [...block.querySelectorAll(`.hljs-${kind}`)].map((span) => span.textContent.trim());
  const colour = (kind) => getComputedStyle(block.querySelector(`.hljs-${kind}`)).color;
  const kinds = [...new Set([...block.querySelectorAll("span[class^=hljs-]")].map((span) => span.className.slice(5)))];
  return {
    plain: getComputedStyle(block).color,
    words: Object.fromEntries(kinds.map((kind) => [kind, words(kind)])),
    colours: Object.fromEntries(kinds.map((kind) => [kind, colour(kind)])),
  };
}, language);

export default {
  async "PTX has colours, in the light and in the dark"({ expect, open }) {
    for (const dark of [false, true]) {
      const { plain, words, colours } = await drawn(await open("gpu/kernel.html", { dark }), "ptx");
      const found = {
        keyword: ["mov", "mad.lo", "ld.param", "ld.global", "fma.rn", "bra", "ret"], built_in: [".u32", ".f32", ".pred"],
        title: [".version", ".visible", ".entry", ".reg"], literal: ["%ctaid.x", "%ntid.x", "%tid.x"], symbol: ["END:"],
        meta: ["@%outside"], number: ["7.0", "64", "4"], comment: ["// &x[i]"],
      };
      for (const [kind, expected] of Object.entries(found)) {
        for (const word of expected) expect(words[kind]?.includes(word), `${word} is no ${kind}: ${words[kind]}`);
        expect(colours[kind] !== plain, `${dark ? "in the dark " : ""}a ${kind} is as plain as the rest`);
      }
      expect(!Object.values(words).flat().some((word) => /^%(?!tid|ntid|ctaid)/.test(word)), "a register is coloured");
    }
  },

  async "the other languages have their own colours"({ expect, open }) {
    for (const [path, language] of [["gpu/kernel.html", "cpp"], ["level1/operations.html", "rust"], ["pytorch.html", "python"]]) {
      const { plain, colours } = await drawn(await open(path), language);
      expect(Object.values(colours).some((colour) => colour !== plain), `${path}: ${language} has no colours`);
    }
    expect(Object.keys((await drawn(await open("level1.html"), "text")).words).length === 0, "a text has syntax colours");
  },

  async "colours change no letter, and leave out no block of PTX"({ expect, open, pages }) {
    const page = await open("introduction.html");
    const start = page.url();
    let count = 0;
    for (const path of pages("language-ptx")) {
      const address = new URL(path, start);
      const source = readFileSync(fileURLToPath(address), "utf8");
      await page.goto(address.href);
      const [shown, written, bad] = await page.evaluate((source) => {
        const blocks = (root) => [...root.querySelectorAll("pre code.language-ptx")];
        // Tabs become spaces.
        const letters = (block) => block.textContent.replace(/\s+/g, " ");
        const written = blocks(new DOMParser().parseFromString(source, "text/html")).map(letters);
        const bad = blocks(document).filter((block, at) => letters(block) !== written[at] || !block.querySelector("[class^=hljs-]"));
        return [blocks(document).length, written.length, bad.map((block) => block.textContent.slice(0, 60))];
      }, source);
      expect(shown === written && bad.length === 0, `${path}: ${shown} of ${written} blocks, and not as written: ${bad}`);
      count += shown;
    }
    expect(count > 100, `${count} blocks of PTX`);
  },
};
