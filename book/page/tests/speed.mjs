// How fast a page's emulator is beside the program, both on one core and in turns: the naive product of
// matrices, in thread instructions a second. `node book/page/tests/speed.mjs MODULE PROGRAM`, as
// `scripts/measure-page` calls it.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

const [module, program] = process.argv.slice(2);
const FILE = "crates/emulated-gpu/ptx-emulator/benches/kernels/matmul.ptx";
const [M, N, K] = [1024, 128, 784];
const TURNS = 5;

/** The product of [m, k] and [k, n], whose launch takes next to no time where k is 1. */
const line = (k) => `run ${FILE} --entry naive --deterministic --grid ${N / 16},${M / 16} --block 16,16 --arg f32[${M * K}]:random --arg f32[${K * N}]:random --arg f32[${M * N}]:0 --arg u32:${M} --arg u32:${N} --arg u32:${k}`;
const instructions = (text) => Number(/(\d+) thread instructions/.exec(text)[1]);

const { instance } = await WebAssembly.instantiate(readFileSync(module), {});
const { memory, room, answer, answer_len: length } = instance.exports;
function inPage(k) {
  const files = { [FILE]: readFileSync(FILE, "utf8") };
  const request = new TextEncoder().encode(JSON.stringify({ do: "command", line: line(k), files }));
  const at = room(request.length);
  new Uint8Array(memory.buffer).set(request, at);
  const begun = performance.now();
  const found = answer();
  const seconds = (performance.now() - begun) / 1000;
  const text = new TextDecoder().decode(new Uint8Array(memory.buffer, found, length()));
  return [instructions(text), seconds];
}
function native(k) {
  const begun = performance.now();
  const { stdout } = spawnSync(program, line(k).split(" "), { encoding: "utf8" });
  return [instructions(stdout), (performance.now() - begun) / 1000];
}

/** Instructions a second, without what begins and ends a launch. */
function speed(run) {
  const [all, long] = run(K);
  const [few, short] = run(1);
  return (all - few) / (long - short) / 1e9;
}

const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];
inPage(K);
const turns = Array.from({ length: TURNS }, () => [speed(native), speed(inPage)]);
const [own, page] = [median(turns.map(([own]) => own)), median(turns.map(([, page]) => page))];
const ratio = median(turns.map(([own, page]) => page / own));
console.log(`| where | thread instructions a second, one core |\n|---|---|\n| the program | ${own.toFixed(2)} billion |\n| a page | ${page.toFixed(2)} billion, ${ratio.toFixed(2)} of it |`);
