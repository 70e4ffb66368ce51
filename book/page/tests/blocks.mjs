// Tests that every runnable block runs, and prints the output that the book shows.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const EMULATOR = "cargo run -p ptx-emulator -- ";

/** The outputs of the book: the output of each command of the emulator, and its filter. */
function outputs(repository) {
  const folder = join(repository, "book/outputs");
  const printed = new Map();
  for (const name of readdirSync(folder).filter((name) => name.endsWith(".txt"))) {
    let lines = null;
    for (const line of readFileSync(join(folder, name), "utf8").split("\n").slice(0, -1)) {
      if (line.startsWith("$ ")) {
        lines = [];
        const [command, ...pipe] = line.slice(2).split(" | ");
        if (command.startsWith(EMULATOR)) printed.set(`${name}: ${line}`, { command: command.slice(EMULATOR.length), pipe, lines });
      } else if (!/^\[exit status \d+\]$/.test(line)) {
        lines?.push(line);
      }
    }
  }
  return printed;
}

/** A line without addresses, which differ from run to run, and are longer outside of a browser. */
const plain = (line) => line.replaceAll(/0x[0-9a-f]{5,}(?=[^0-9a-f]|$)/g, (address) => (/^0x[0-9a-f]{8}$/.test(address) && /lanes$/.test(line.slice(0, line.indexOf(address)).trim()) ? address : "0x…")).trimEnd();

export default {
  async "the page prints every output of the book"({ expect, open, visit, pages, panel, done, click, repository }) {
    const known = [...outputs(repository).values()];
    const seen = new Set();
    const page = await open("introduction.html");
    for (const path of pages(EMULATOR)) {
      await visit(page, path);
      const count = await page.locator(".fl-block").count();
      for (let at = 0; at < count; at++) {
        const own = await page.locator(".fl-block").nth(at).evaluate((block) => {
          const code = block.previousElementSibling?.querySelector("code.language-console");
          return code ? code.textContent : null;
        });
        if (own === null) continue;
        const box = await panel(page, at);
        for (const { command, pipe, lines } of known.filter(({ command }) => own.includes(`${EMULATOR}${command}`))) {
          if (command.includes("target/")) continue;
          await box.locator(".fl-command").fill(command);
          await done(box, () => click(box, "do as written"));
          // The text of a fault is folded.
          const text = await box.locator(".fl-text").textContent();
          const printed = text.split("\n").map(plain);
          const expected = lines.map(plain);
          // A filter (grep or tail) only selects some of the lines.
          let from = 0;
          for (const line of expected) {
            const found = pipe.length ? printed.indexOf(line, from) : printed[from] === line ? from : -1;
            expect(found >= 0, `${path}, ${command}: no line ${JSON.stringify(line)} in\n${text}`);
            if (found < 0) break;
            from = found + 1;
          }
          seen.add(command);
        }
      }
    }
    expect(seen.size > 60, `only ${seen.size} commands were found`);
  },

  async "every kernel that the book shows has its commands"({ expect, open, visit, pages, panel, done, click }) {
    let count = 0;
    const page = await open("introduction.html");
    for (const path of pages("data-file=", "language-ptx")) {
      await visit(page, path);
      const total = await page.locator("main code[data-file]").count();
      const unmarked = await page.locator("main code.language-ptx:not([data-file], [data-puzzle])").count();
      expect(unmarked === 0, `${path}: ${unmarked} kernels in PTX can't be run`);
      for (let at = 0; at < total; at++) {
        const index = await page.locator("main code[data-file]").nth(at).evaluate((code) =>
          [...document.querySelectorAll(".fl-block")].indexOf(code.parentElement.nextElementSibling));
        const box = await panel(page, index);
        const file = await page.locator("main code[data-file]").nth(at).getAttribute("data-file");
        await done(box, () => click(box, "do as written"));
        const text = await box.locator(".fl-outcome").textContent();
        expect(text.includes(file.split("/").pop()) || /\d thread instructions|which is lane/.test(text), `${path}, ${file}: ${text.slice(0, 200)}`);
        count++;
      }
    }
    expect(count > 70, `${count} kernels`);
  },
};
