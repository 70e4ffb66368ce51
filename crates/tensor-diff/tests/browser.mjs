// Checks pages in a headless browser, from their files and without a network, and reports every failed
// expectation. `node browser.mjs CASES`, where CASES is a JSON file:
//
//     [{"page": "/a/page.html", "first": "dz1" or null, "worst": {"tensor": "t0-dz1",
//       "worst_index": [0, 3], "worst_error": 1e-3, "allowed": 1e-7}}]
//
// `worst` has the JSON report's numbers of the worst element of an open tensor. The
// variable PLAYWRIGHT names the folder of playwright-core, CHROMIUM the browser; where SCREENSHOTS
// names a folder, each page is drawn there.
//
// On every page, the first fault and its worst element are checked. The keyboard's behaviour
// depends on the tensor, its shape and its predecessor in the chain: each combination is tried once.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";

const { chromium } = createRequire(import.meta.url)(process.env.PLAYWRIGHT);
const cases = JSON.parse(readFileSync(process.argv[2], "utf8"));
const failures = [];

/** Two pages in parallel, since each mostly waits. */
const TABS = 2;
const walked = new Set();

/** Checks cases from the list in a separate tab until none is left. */
async function look(browser, cases) {
  const context = await browser.newContext({ offline: true, viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  let subject;
  const expect = (holds, what) => { if (!holds) failures.push(`${subject.page}: ${what}`); };
  let address;
  page.on("pageerror", (error) => expect(false, `script error: ${error.message}`));
  page.on("console", (message) => expect(message.type() === "log", `console: ${message.text()}`));
  page.on("dialog", (dialog) => { expect(false, `a dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => expect(request.url().split("#")[0] === address, `asks for ${request.url()}`));

  /** The number that the readout of a tensor has in a field. */
  const field = (id, name) => page.locator(`[id="${id}"] .readout [data-field="${name}"]`).innerText();

  async function drawn(id) {
    await page.waitForSelector(`[id="${id}"] .maps[data-drawn="done"]`, { timeout: 20000 });
  }

  /** Hovering over the worst element shows what the report says of it. */
  async function hover({ tensor, worst_index: index, worst_error: error, allowed }) {
    await drawn(tensor);
    const data = await page.evaluate((id) => {
      const { rows, columns, width, shape, index } = DATA.tensors[id];
      return { rows, columns, width, shape, reduced: index !== null };
    }, tensor);
    if (!data.reduced) {
      const flat = index.reduce((flat, i, axis) => flat * data.shape[axis] + i, 0);
      const [row, column] = [Math.floor(flat / data.width), flat % data.width];
      const map = page.locator(`[id="${tensor}"] .map`).last();
      await map.scrollIntoViewIfNeeded();
      const box = await map.boundingBox();
      // Away first: what is shown has to come from hovering.
      await page.mouse.move(box.x + box.width - 2, box.y + box.height - 2);
      await page.mouse.move(box.x + ((column + 0.5) / data.columns) * box.width, box.y + ((row + 0.5) / data.rows) * box.height);
    }
    const place = await field(tensor, "index");
    expect(place === `[${index.join(", ")}]`, `hovering over ${tensor}${JSON.stringify(index)} shows ${place}`);
    for (const [name, value] of [["error", error], ["allowed", allowed]]) {
      const shown = await field(tensor, name);
      expect(shown === String(value), `${tensor}: ${name} is shown as ${shown}, the report has ${value}`);
    }
  }

  /** Whether something holds on the page, at once or within seconds: a key takes its time where the machine is busy. */
  const holds = (what, argument) => page.waitForFunction(what, argument, { timeout: 10000 }).then(() => true, () => false);

  /** Whether the cursor of a tensor comes to a place, in parts of the map. */
  const comes = (id, top, left) => holds(([id, top, left]) => {
    const { style } = document.querySelector(`[id="${id}"] .cursor`);
    const near = (length, part) => Math.abs(parseFloat(length) - 100 * part) < 1e-3;
    return near(style.top, top) && near(style.left, left);
  }, [id, top, left]);

  /** Everything can be reached and moved with the keyboard. */
  async function keyboard(id) {
    const way = await page.evaluate((id) => {
      const chain = [...document.querySelectorAll(".pair:not([hidden]) .chain a")];
      return JSON.stringify([id, DATA.tensors[id].shape, chain.map((link) => link.hash)]);
    }, id);
    if (walked.has(way)) return;
    walked.add(way);
    // The mouse is somewhere else.
    await page.mouse.move(0, 0);
    await page.evaluate(() => document.activeElement.blur());
    const link = await page.waitForSelector(`.pair:not([hidden]) .chain a[href="#${id}"]`);
    let reached = false;
    for (let presses = 0; presses < 400 && !reached; presses++) {
      await page.keyboard.press("Tab");
      reached = await link.evaluate((link) => link === document.activeElement);
    }
    expect(reached, `the keyboard doesn't reach ${id} in the chain`);
    await page.evaluate((id) => { document.getElementById(id).open = false; }, id);
    await page.keyboard.press("Enter");
    await page.waitForSelector(`[id="${id}"][open]`, { timeout: 5000 });
    // From the link to its section, into the maps.
    await page.waitForFunction((id) => document.activeElement.closest("details")?.id === id, id);
    await drawn(id);
    reached = false;
    for (let presses = 0; presses < 6 && !reached; presses++) {
      await page.keyboard.press("Tab");
      reached = await page.evaluate(() => document.activeElement.matches(".maps"));
    }
    expect(reached, `the keyboard doesn't reach the maps of ${id}`);
    const { rows, columns } = await page.evaluate((id) => DATA.tensors[id], id);
    await page.keyboard.press("w");
    const worst = await field(id, "index");
    await page.keyboard.press("Home");
    for (let n = 0; n * 10 < rows; n++) await page.keyboard.press("PageUp");
    expect(await comes(id, 0, 0), `Home and Page Up don't lead to the first element of ${id}`);
    await page.keyboard.press("ArrowRight");
    expect(await comes(id, 0, columns === 1 ? 0 : 1 / columns), `an arrow key doesn't move the cursor of ${id}`);
    await page.keyboard.press("w");
    const back = ([id, worst]) => document.querySelector(`[id="${id}"] .readout [data-field="index"]`).innerText === worst;
    expect(await holds(back, [id, worst]), `W doesn't lead to the worst element of ${id}`);
  }

  for (subject = cases.shift(); subject; subject = cases.shift()) {
    address = pathToFileURL(subject.page).href;
    try {
      await page.goto(address);
      const { foreign, links, top } = await page.evaluate(() => {
        const top = document.querySelector(".pair:not([hidden]) details");
        return {
          foreign: document.querySelectorAll("img:not([src^='data:']), iframe, object, link, style ~ style, script ~ script ~ script").length,
          links: [...document.querySelectorAll(".pair:not([hidden]) p.first a")].map((link) => link.innerText),
          top: top && { name: top.querySelector("summary code").innerText, open: top.open },
        };
      });
      expect(foreign === 0, `${foreign} elements that the page doesn't make`);
      if (subject.first !== undefined) {
        const named = subject.first === null ? [] : [subject.first];
        expect(JSON.stringify(links) === JSON.stringify(named), `names ${links} first, not ${subject.first}`);
        if (subject.first !== null) {
          expect(top?.name === subject.first, "another tensor is on top");
          expect(top?.open === true, "the first tensor is closed");
        }
      }
      if (subject.worst) {
        await hover(subject.worst);
        await keyboard(subject.worst.tensor);
      }
      for (const width of [390, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        expect(wide <= width, `is ${wide} pixels wide on a screen of ${width}`);
        if (process.env.SCREENSHOTS) {
          const name = `${basename(subject.page, ".html")}-${width}.png`;
          await page.screenshot({ path: `${process.env.SCREENSHOTS}/${name}`, fullPage: true });
        }
      }
    } catch (error) {
      expect(false, error.message);
    }
  }
  await context.close();
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
await Promise.all(Array.from({ length: TABS }, () => look(browser, cases)));
await browser.close();
if (failures.length) {
  console.error(failures.join("\n"));
  process.exit(1);
}
