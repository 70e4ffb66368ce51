// Benchmark of a page's emulator against the program, both on one core and in turns: the naive matrix product, in thread
// instructions per second. `scripts/measure-page.sh` calls it as `node book/page/tests/speed.mjs MODULE PROGRAM`. If
// PLAYWRIGHT names the folder of playwright-core, the page runs in Chromium, otherwise in Node.
//
// Each figure is the best of many short launches, because other load on the machine only makes launches slower.

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [module, program] = process.argv.slice(2);
const FILE = "crates/emulated-gpu/ptx-emulator/benches/kernels/matmul.ptx";
const [M, N, K] = [64, 128, 784];
const TURNS = 60;

/** The product of [m, k] and [k, n]; with k = 1 it measures the overhead of a launch. */
const line = (k) => `run ${FILE} --entry naive --deterministic --grid ${N / 16},${M / 16} --block 16,16 --arg f32[${M * K}]:random --arg f32[${K * N}]:random --arg f32[${M * N}]:0 --arg u32:${M} --arg u32:${N} --arg u32:${k}`;
const files = { [FILE]: readFileSync(FILE, "utf8") };

/** Answers requests like a page's worker: the printed text, and the time. */
async function emulator(bytes) {
  const { instance } = await WebAssembly.instantiate(bytes, {});
  const { memory, room, answer, answer_len: length } = instance.exports;
  if (instance.exports.fma_slot) {
    const { __indirect_function_table: table, fma_module, fma_module_len, fma_slot, use_fma } = instance.exports;
    const [at, len] = [fma_module(), fma_module_len()];
    const second = new Uint8Array(memory.buffer, at, len).slice();
    if (WebAssembly.validate(second)) {
      const { instance } = await WebAssembly.instantiate(second, { emulator: { memory } });
      table.set(fma_slot(), instance.exports.fma);
      if (!use_fma()) throw new Error("not used");
    }
  }
  return (request) => {
    const text = new TextEncoder().encode(JSON.stringify(request));
    const at = room(text.length);
    new Uint8Array(memory.buffer).set(text, at);
    const begun = performance.now();
    const found = answer();
    const seconds = (performance.now() - begun) / 1000;
    return [JSON.parse(new TextDecoder().decode(new Uint8Array(memory.buffer, found, length()))).text, seconds];
  };
}

let browser = null;
let where = `Node ${process.version}`;
let ask;
if (process.env.PLAYWRIGHT) {
  const { chromium } = createRequire(import.meta.url)(resolve(process.env.PLAYWRIGHT));
  const executablePath = process.env.CHROMIUM ?? process.env.PATH.split(":").map((folder) => join(folder, "chromium")).find(existsSync);
  browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  where = `Chromium ${browser.version().split(".")[0]}`;
  const page = await browser.newPage();
  await page.goto("about:blank");
  await page.evaluate(async ([source, packed]) => {
    const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
    globalThis.ask = await (0, eval)(`(${source})`)(bytes);
  }, [String(emulator), readFileSync(module).toString("base64")]);
  ask = (request) => page.evaluate((request) => globalThis.ask(request), request);
} else {
  const answers = await emulator(readFileSync(module));
  ask = async (request) => answers(request);
}

const inPage = (k) => ask({ do: "command", line: line(k), files });
function native(k) {
  const begun = performance.now();
  const { stdout } = spawnSync(program, line(k).split(" "), { encoding: "utf8" });
  return [stdout, (performance.now() - begun) / 1000];
}

/** The shortest time of each launch so far, and its number of instructions. */
const best = new Map();
async function once(name, run, k) {
  const [text, seconds] = await run(k);
  const instructions = Number(/(\d+) thread instructions/.exec(text)[1]);
  const key = `${name} ${k}`;
  best.set(key, [instructions, Math.min(seconds, best.get(key)?.[1] ?? Infinity)]);
}
for (let turn = 0; turn < TURNS; turn++) {
  for (const k of [K, 1]) {
    await once("native", native, k);
    await once("page", inPage, k);
  }
}
/** Billions of instructions per second, without the overhead of a launch. */
function speed(name) {
  const [all, long] = best.get(`${name} ${K}`);
  const [few, short] = best.get(`${name} 1`);
  return (all - few) / (long - short) / 1e9;
}
const [own, page] = [speed("native"), speed("page")];
console.log(`| where | thread instructions a second, one core |\n|---|---|\n| the program | ${own.toFixed(2)} billion |\n| a page in ${where} | ${page.toFixed(2)} billion, ${(page / own).toFixed(2)} of it |`);

// The time to the first result of a page, if the book is built.
const first = resolve("book/html/gpu/divergence.html");
if (browser && existsSync(first) && existsSync("book/html/page/module.js")) {
  let shortest = Infinity;
  for (let turn = 0; turn < 10; turn++) {
    const context = await browser.newContext({ offline: true });
    const page = await context.newPage();
    await page.goto(pathToFileURL(first).href);
    shortest = Math.min(shortest, await page.evaluate(async () => {
      const begun = performance.now();
      document.querySelector(".fl-open").click();
      const until = async (found) => { while (!found()) await new Promise((resolve) => requestAnimationFrame(resolve)); };
      await until(() => document.querySelector(".fl-panel .fl-bar button"));
      document.querySelector(".fl-panel .fl-bar button").click();
      await until(() => document.querySelector(".fl-panel .fl-text"));
      return (performance.now() - begun) / 1000;
    }));
    await context.close();
  }
  console.log(`\nthe first result of a page: ${shortest.toFixed(2)} s after the first press of a button`);
}
await browser?.close();
