// Tests of the built book in Firefox, through WebDriver BiDi, from its files: the front page runs, a panel runs, a puzzle is
// solved, a bug is hunted, the stepper opens, and training starts.
//
//     node book/page/tests/firefox.mjs
//
// The variable PUPPETEER names the folder of puppeteer-core, FIREFOX the browser (default: `firefox-esr` or `firefox` on the
// PATH), BOOK the built book (default: book/html). Failures are printed, and lead to exit code 1.

import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const folder = resolve(process.env.PUPPETEER);
const { default: puppeteer } = await import(pathToFileURL(join(folder, "lib/esm/puppeteer/puppeteer-core.js")).href);
const repository = resolve(dirname(fileURLToPath(import.meta.url)), "../../..");
const book = resolve(process.env.BOOK ?? join(repository, "book/html"));
const onPath = ["firefox-esr", "firefox"].flatMap((name) => process.env.PATH.split(":").map((folder) => join(folder, name)));
const executablePath = process.env.FIREFOX ?? onPath.find(existsSync);
/** Milliseconds to wait for anything. */
const PATIENCE = 120_000;

const ADD_ONE = "__global__ void add_one(const float *x, float *out) { unsigned i = threadIdx.x; out[i] = x[i] + 1.0f; }";

/** The tests, each with its page. */
const tests = {
  "the front page runs": ["introduction.html", async (page) => {
    await page.click(".fl-begin");
    await page.waitForFunction(() => document.querySelectorAll(".fl-row32 .fl-active").length === 20);
    await page.waitForFunction(() => document.querySelector(".fl-front").innerText.includes("y is now 1 3 5 7"));
    await page.waitForFunction(() => /[1-9]\d* batches of 256 digits/.test(document.querySelector(".fl-front").innerText));
  }],

  "a panel runs, and marks a mistake while its text is edited": ["page.html", async (page) => {
    await page.click(".fl-open");
    await page.waitForSelector(".fl-panel .cm-content");
    await press(page, ".fl-panel button", "▶ run");
    await page.waitForFunction(() => document.querySelector(".fl-panel .fl-outcome").innerText.includes("is now 1.0 3.0 5.0 7.0"));
    await rewrite(page, ".fl-panel .cm-content", "__global__ void saxpy(");
    await page.waitForSelector(".fl-panel .fl-diagnostics .fl-error");
  }],

  "a puzzle is solved": ["page/puzzles.html", async (page) => {
    await page.click(".fl-begin");
    await page.waitForSelector(".fl-puzzles");
    await page.waitForSelector('.fl-chosen a[href="#add-one"]');
    await rewrite(page, ".fl-puzzle .cm-content", ADD_ONE);
    await page.click(".fl-try");
    await page.waitForSelector(".fl-puzzle .fl-solved");
    await page.waitForFunction(() => document.querySelector(".fl-score").textContent.startsWith("1 of "));
  }],

  "a bug's line is found": ["isolate/hunt.html", async (page) => {
    await page.click(".fl-begin");
    await page.waitForSelector('.fl-panel[data-shown="1"] .fl-choice');
    await press(page, ".fl-choice", "z2 = a1 @ w2.T + b2");
    await page.waitForFunction(() => document.querySelector(".fl-panel").innerText.includes("the line of z2 is wrong"));
  }],

  "the stepper opens and steps": ["gpu/divergence.html", async (page) => {
    await page.click(".fl-look");
    await page.waitForSelector(".fl-panel .fl-view .fl-registers");
    await page.focus(".fl-panel .fl-view");
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction(() => document.querySelector(".fl-panel .fl-moment").innerText.startsWith("1 of"));
  }],

  "training starts": ["page/training.html", async (page) => {
    await page.click(".fl-begin");
    await page.waitForSelector(".fl-go");
    await page.click(".fl-go");
    await page.waitForFunction(() => Number(document.querySelector('[data-four-levels="training"]').dataset.loss) < 0.6);
  }],
};

/** Presses the button with this text, in which stretches of spaces count as one. */
async function press(page, selector, text) {
  const found = await page.evaluateHandle((selector, text) => [...document.querySelectorAll(selector)].find((button) => button.textContent.replace(/\s+/g, " ").trim() === text), selector, text);
  await found.asElement().click();
}

/** Replaces the text of an editor, as a reader would. */
async function rewrite(page, selector, text) {
  await page.click(selector);
  await page.keyboard.down("Control");
  await page.keyboard.press("a");
  await page.keyboard.up("Control");
  await page.keyboard.type(text);
}

const browser = await puppeteer.launch({ browser: "firefox", executablePath, headless: true, timeout: PATIENCE, protocolTimeout: PATIENCE });
console.log(await browser.version());
let failed = 0;
for (const [name, [path, test]] of Object.entries(tests)) {
  const begun = performance.now();
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const errors = [];
  page.on("pageerror", (error) => errors.push(`script error: ${error.message}`));
  try {
    await page.setViewport({ width: 1280, height: 900 });
    await page.goto(pathToFileURL(join(book, path)).href);
    await test(page);
  } catch (error) {
    errors.push(error.stack);
  }
  await context.close();
  failed += errors.length;
  if (errors.length) console.error(`${name}: ${errors.join("\n")}`);
  console.log(`${name}: ${((performance.now() - begun) / 1000).toFixed(1)} s`);
}
await browser.close();
if (failed) process.exit(1);
console.log(`${Object.keys(tests).length} tests passed in Firefox`);
