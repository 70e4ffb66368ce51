// Tests of the book's look: the measure of its lines, one palette, drawings, fonts, the preview picture, side notes and print.

import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Colours as the browser computes them. */
const colours = (page, names) => page.evaluate((names) => {
  const probe = document.createElement("i");
  document.body.append(probe);
  const found = names.map((name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  });
  probe.remove();
  return found;
}, names);

const shade = (page, selector, property) => page.locator(selector).first().evaluate((node, property) => getComputedStyle(node)[property], property);

export default {
  async "lines have about 70 characters"({ expect, open, visit }) {
    const page = await open("introduction.html");
    for (const path of ["introduction.html", "gpu/kernel.html", "isolate.html", "level2.html"]) {
      await visit(page, path);
      await page.evaluate(() => document.fonts.ready);
      const length = await page.evaluate(() => {
        const long = [...document.querySelectorAll("main > p")].filter((text) => text.textContent.length > 200 && !text.querySelector("math"));
        const lines = (text) => {
          const range = document.createRange();
          range.selectNodeContents(text);
          return new Set([...range.getClientRects()].map(({ bottom }) => Math.round(bottom / 12))).size;
        };
        const sum = (values) => values.reduce((a, b) => a + b, 0);
        // The last line of a paragraph is half full on average.
        return sum(long.map((text) => text.textContent.length)) / sum(long.map((text) => lines(text) - 0.5));
      });
      expect(length > 58 && length < 80, `${path}: lines of ${length.toFixed(0)} characters`);
    }
  },

  async "page, figures and editor have one palette"({ expect, open, panel }) {
    for (const dark of [false, true]) {
      const page = await open("page.html", { dark });
      const box = await panel(page);
      await box.locator(".cm-content .fl-k").first().waitFor();
      const [keyword, type] = await colours(page, ["--fl-keyword", "--fl-type"]);
      for (const [name, selector, expected] of [["keyword", "main pre .hljs-keyword", keyword], ["editor's keyword", ".cm-content .fl-k", keyword], ["editor's type", ".cm-content .fl-t", type]]) {
        const is = await shade(page, selector, "color");
        expect(is === expected, `the ${name} is ${is}, and the palette has ${expected}`);
      }
      const other = await open("level1/phases.html", { dark });
      const [line] = await colours(other, ["--fl-line"]);
      expect((await shade(other, ".drawing .lines", "stroke")) === line, "a drawing's lines are not of the palette");
      const figure = await open("introduction.html", { dark });
      const [blue] = await colours(figure, ["--fl-blue"]);
      expect((await shade(figure, 'main svg [fill="#3b82f6"]', "fill")) === blue, "a figure's blue is not of the palette");
    }
  },

  async "drawings are figures with labels, and not text"({ expect, open, visit, pages }) {
    const page = await open("introduction.html");
    let count = 0;
    for (const path of pages("class=\"drawing\"", "language-text")) {
      await visit(page, path);
      const [left, figures, unnamed] = await page.evaluate(() => [
        [...document.querySelectorAll("main pre code.language-text")].filter((code) => /[─│┌┐└┘├┤┬┴┼►◄▲▼]|-->/.test(code.textContent)).length,
        document.querySelectorAll("main .drawing").length,
        [...document.querySelectorAll("main .drawing svg")].filter((svg) => !svg.getAttribute("aria-label") || !svg.querySelector("text")).length,
      ]);
      expect(left === 0, `${path}: ${left} drawings of characters`);
      expect(unnamed === 0, `${path}: ${unnamed} drawings without labels`);
      count += figures;
    }
    expect(count >= 25, `${count} drawings`);
  },

  async "each level begins with a map, on which it stands out"({ expect, open, visit }) {
    const page = await open("introduction.html");
    for (const level of [1, 2, 3, 4]) {
      await visit(page, `level${level}.html`);
      const shades = await page.evaluate(() => [1, 2, 3, 4].map((at) => Number(getComputedStyle(document.querySelector(`.map .level${at}`)).opacity)));
      expect(shades.every((shade, at) => (shade === 1) === (at + 1 === level)), `level ${level} has the shades ${shades}`);
    }
  },

  async "the book serves the fonts of its text and its formulas"({ expect, open }) {
    const loaded = async (path) => {
      const page = await open(path);
      await page.evaluate(() => document.fonts.ready);
      return page.evaluate(() => [...document.fonts].filter(({ status }) => status === "loaded").map(({ family }) => family.replaceAll('"', "")));
    };
    expect((await loaded("isolate/bound.html")).includes("Four Levels Math"), "the formulas have another font");
    const first = await loaded("introduction.html");
    expect(first.includes("Source Serif 4") && !first.includes("Four Levels Math"), `the first page has the fonts ${first}`);
  },

  async "each page names a preview picture"({ expect, pages, book }) {
    for (const path of pages()) {
      const html = readFileSync(join(book, path), "utf8");
      const content = (name) => new RegExp(`property="${name}" content="([^"]+)"`).exec(html)?.[1];
      if (!html.includes("og:title")) continue;
      const picture = content("og:image");
      expect(picture && (content("og:image:alt") ?? "").length > 20, `${path}: no picture, or none with a text`);
      const bytes = readFileSync(join(book, path, "..", picture ?? ""));
      // The width and height of a PNG are in its header.
      expect(bytes.readUInt32BE(16) === 1200 && bytes.readUInt32BE(20) === 630 && bytes.length < 100_000, `${path}: the picture has ${bytes.length} bytes`);
    }
  },

  async "on a wide screen terms have notes, which cover nothing"({ expect, open, visit, pages }) {
    const page = await open("introduction.html");
    let count = 0;
    for (const path of pages("class=\"term\"").filter((_, at) => at % 3 === 0).concat("gpu/kernel.html")) {
      await visit(page, path);
      await page.evaluate(() => document.fonts.ready.then(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))));
      const [notes, covered] = await page.evaluate(() => {
        const notes = [...document.querySelectorAll(".fl-note")];
        const others = [...document.querySelectorAll("main > *, .fl-note")];
        const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
        const covers = (note) => others.filter((other) => other !== note && meet(note.getBoundingClientRect(), other.getBoundingClientRect()));
        return [notes.length, notes.flatMap((note) => covers(note).map((other) => `${note.textContent.slice(0, 20)} covers ${other.tagName} ${other.className}`))];
      });
      expect(covered.length === 0, `${path}: ${covered.slice(0, 3)}`);
      count += notes;
    }
    expect(count > 30, `${count} notes`);
    await page.setViewportSize({ width: 1100, height: 900 });
    await page.waitForFunction(() => document.querySelectorAll(".fl-note").length === 0);
    expect((await page.locator("main a.term[title]").count()) > 0, "without notes, terms have no tooltips");
  },

  async "paper is black on white, without buttons, and links can be read"({ expect, open }) {
    for (const dark of [false, true]) {
      const page = await open("gpu/kernel.html", { dark });
      await page.emulateMedia({ media: "print", colorScheme: dark ? "dark" : "light" });
      const seen = await page.evaluate(() => ({
        buttons: [...document.querySelectorAll("button, .fl-note, .fl-block, .nav-wrapper")].filter((node) => node.getClientRects().length).length,
        colours: [...document.querySelectorAll("main p, main pre code, main a, main td")].map((node) => getComputedStyle(node).color).filter((colour) => colour !== "rgb(0, 0, 0)"),
        paper: [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.documentElement).backgroundColor],
        plain: [...document.querySelectorAll("main a:not(.header)")].filter((link) => !getComputedStyle(link).textDecorationLine.includes("underline")).length,
      }));
      expect(seen.buttons === 0, `${seen.buttons} buttons on paper`);
      expect(seen.colours.length === 0, `text in ${seen.colours[0]}`);
      expect(seen.paper.every((colour) => ["rgb(255, 255, 255)", "rgba(0, 0, 0, 0)"].includes(colour)), `paper in ${seen.paper}`);
      expect(seen.plain === 0, `${seen.plain} links can't be told from text`);
      const other = await open("sources.html", { dark });
      await other.emulateMedia({ media: "print" });
      const after = await other.locator('main a[href^="http"]').first().evaluate((link) => getComputedStyle(link, "::after").content);
      expect(after.includes("http") || after.includes("attr("), `the address of a link is not printed: ${after}`);
    }
  },
};
