// Tests of the built book in a headless browser, from its files and without a network:
//
//     node book/page/tests/browser.mjs [PART …]
//
// The variable PLAYWRIGHT names the folder of playwright-core, AXE that of axe-core, CHROMIUM the browser (default:
// `chromium` on the PATH), BOOK the built book (default: book/html). If SCREENSHOTS names a folder, screenshots are saved
// there. Failures are printed, and lead to exit code 1.

import { readFileSync, readdirSync, existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const require = createRequire(import.meta.url);
const { chromium } = require(resolve(process.env.PLAYWRIGHT));
const repository = resolve(dirname(fileURLToPath(import.meta.url)), "../../..");
const book = resolve(process.env.BOOK ?? join(repository, "book/html"));
const executablePath = process.env.CHROMIUM ?? process.env.PATH.split(":").map((folder) => join(folder, "chromium")).find(existsSync);

const failures = [];
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const address = (path) => pathToFileURL(join(book, path)).href;

/** Another page of the book, in the same tab. */
const visit = (page, path) => page.goto(address(path));

/** The tools of a test: its expectations, and its tabs, which are closed at its end. */
function own(subject) {
  const contexts = [];
  /** Records an expectation; failures are printed at the end. */
  const expect = (holds, what) => {
    if (!holds) failures.push(`${subject}: ${what}`);
  };
  /**
   * Opens a page of the book, on which no script may fail and no request may go to another host. `before` is a script that
   * runs first, `first` a file and how its first request is answered, `beside` a page whose tab shares its storage, and
   * `origin` the server of the book, in place of its folder.
   */
  async function open(path, { width = 1280, dark = false, script = true, without = null, hash = "", before = null, first = null, beside = null, origin = null } = {}) {
    const context = beside?.context() ?? await browser.newContext({ offline: !origin, viewport: { width, height: 900 }, colorScheme: dark ? "dark" : "light", javaScriptEnabled: script });
    if (!beside) contexts.push(context);
    if (without) await context.route(without, (route) => route.abort());
    if (before) await context.addInitScript(before);
    let asked = 0;
    if (first) await context.route(first[0], (route) => (++asked === 1 ? first[1](route) : route.continue()));
    const page = await context.newPage();
    page.setDefaultTimeout(Number(process.env.PATIENCE ?? 120) * 1000);
    page.on("pageerror", (error) => expect(false, `script error: ${error.message}`));
    page.on("request", (request) => expect(/^(file|blob|data):/.test(request.url()) || (origin && request.url().startsWith(origin)), `asks for ${request.url()}`));
    await page.goto((origin ? `${origin}/${path}` : address(path)) + hash);
    return page;
  }
  const close = () => Promise.all(contexts.map((context) => context.close()));
  return { expect, open, close, accessible: (page, name) => accessible(expect, page, name) };
}

/** The position of the block below a kernel file among the blocks of a page. */
const blockOf = (page, file) => page.evaluate((file) => {
  const code = document.querySelector(`main code[data-file="${file}"]`);
  return [...document.querySelectorAll(".fl-block")].indexOf(code.parentElement.nextElementSibling);
}, file);

/** Opens the panel of the `at`-th block of a page, and first the tab or the solution that holds it. */
async function panel(page, at = 0) {
  const block = page.locator(".fl-block").nth(at);
  await block.evaluate((node) => {
    const section = node.closest(".side-by-side > section");
    const place = section ? [...section.parentElement.querySelectorAll(":scope > section")].indexOf(section) : -1;
    section?.parentElement.querySelectorAll("input[type=radio]")[place].click();
    const details = node.closest("details");
    if (details) details.open = true;
  });
  await block.locator(".fl-open").click();
  await block.locator(".fl-panel").waitFor();
  return block.locator(".fl-panel");
}

/** Does something to a panel that starts a request, and waits for its end. */
async function done(panel, act) {
  const outcome = panel.locator(".fl-outcome");
  const before = (await outcome.getAttribute("data-done")) ?? "0";
  await act();
  await panel.page().waitForFunction(([outcome, before]) => (outcome.dataset.done ?? "0") !== before, [await outcome.elementHandle(), before]);
}

const click = (panel, name) => panel.locator(".fl-bar").first().getByRole("button", { name, exact: true }).click();

/** Replaces the text of the editor. */
async function type(page, panel, change) {
  const field = panel.locator("textarea.fl-field, .cm-content").first();
  await field.click();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText(change);
}

/** The pages of the book, by their paths in it, sorted: all of them, or those whose source contains one of these texts. */
function pages(...texts) {
  const files = readdirSync(book, { recursive: true }).filter((path) => path.endsWith(".html") && !/(^|\/)(404|toc|print)\.html$/.test(path));
  const contains = (path) => texts.some((text) => readFileSync(join(book, path), "utf8").includes(text));
  return files.filter((path) => !texts.length || contains(path)).sort();
}

/** Checks that nothing is cut off, and accessibility, for the whole page including mdBook's frame. */
async function accessible(expect, page, name) {
  if (process.env.AXE) {
    axe ??= readFileSync(join(resolve(process.env.AXE), "axe.min.js"), "utf8");
    await page.evaluate(axe);
    const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    for (const { id, impact, nodes } of found.violations) {
      if (["moderate", "serious", "critical"].includes(impact)) expect(false, `${name}: axe: ${id} at ${nodes.slice(0, 3).map(({ target, html }) => `${target}: ${html.slice(0, 120)}`).join(", ")}`);
    }
  }
  const [width, wide] = await page.evaluate(() => [innerWidth, document.documentElement.scrollWidth]);
  expect(wide <= width, `${name} is ${wide} pixels wide on a screen of ${width}`);
  if (process.env.SCREENSHOTS) await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name.replaceAll("/", "-")}.png`), fullPage: true });
}
let axe = null;

// The longest test starts early, so that it doesn't run on its own at the end.
const parts = { front: "./front.mjs", readers: "./readers.mjs", blocks: "./blocks.mjs", editing: "./editing.mjs", loading: "./loading.mjs", stranded: "./stranded.mjs", warp: "./warp.mjs", training: "./training.mjs", puzzles: "./puzzles.mjs", hunt: "./hunt.mjs", look: "./look.mjs", colours: "./colours.mjs" };
const chosen = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(parts);
const waiting = [];
for (const part of chosen) {
  const { default: tests } = await import(parts[part]);
  for (const [name, test] of Object.entries(tests)) waiting.push([`${part}, ${name}`, test]);
}
/** Runs one test after the other. */
async function work() {
  while (waiting.length) {
    const [subject, test] = waiting.shift();
    const begun = performance.now();
    const { close, ...tools } = own(subject);
    try {
      await test({ ...tools, visit, blockOf, panel, done, click, type, pages, repository, book });
    } catch (error) {
      tools.expect(false, error.stack.split("\nBrowser logs")[0]);
    }
    await close();
    console.log(`${subject}: ${((performance.now() - begun) / 1000).toFixed(1)} s`);
  }
}
// Two at the same time, because each of them waits most of the time.
await Promise.all([work(), work()]);
await browser.close();
if (failures.length) {
  console.error(failures.join("\n"));
  process.exit(1);
}
