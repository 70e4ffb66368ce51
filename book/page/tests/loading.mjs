// Tests of the files that a page loads: few before a reader runs something, and then only those that the kernel needs.

import { createReadStream, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const KERNEL = "gpu/divergence.html";
/** Bytes of a page and of everything that it loads on its own. The tests of all pages are in readers.mjs. */
const MOST_BYTES = 0.7e6;
/** Seconds from a click to the panel at 10 Mbit/s on an idle machine, and how much longer a busy one may take. */
const SECONDS = 2;
const SLACK = 2;

const TYPES = { html: "text/html", js: "text/javascript", css: "text/css", svg: "image/svg+xml", wasm: "application/wasm" };

/** Serves the book without compression while `use` runs. `hold` may answer a path itself, and then returns true. */
async function served(book, use, hold = () => false) {
  const asked = [];
  const server = createServer(({ url }, response) => {
    const path = url.split(/[?#]/)[0];
    asked.push(path);
    response.setHeader("Content-Type", TYPES[path.split(".").pop()] ?? "application/octet-stream");
    if (hold(path, response)) return;
    createReadStream(join(book, path)).on("error", () => { response.statusCode = 404; response.end(); }).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await use(`http://127.0.0.1:${server.address().port}`, asked);
  } finally {
    server.close();
  }
}

const isKernel = (path) => /\/page\/kernels\//.test(path);

export default {
  async "from a server, the module is loaded packed, with its progress, and when a button is pointed at"({ expect, open, panel, done, click, book }) {
    const size = (paths) => paths.reduce((sum, path) => sum + statSync(join(book, path)).size, 0);
    let finish = null;
    const hold = (path, response) => {
      if (!path.endsWith("module.wasm.gz")) return false;
      // The second half comes after the click.
      const file = readFileSync(join(book, path));
      response.write(file.subarray(0, file.length / 2));
      finish = () => response.end(file.subarray(file.length / 2));
      return true;
    };
    await served(book, async (origin, asked) => {
      const page = await open(KERNEL, { origin });
      await page.evaluate(() => {
        globalThis.said = [];
        new MutationObserver(() => said.push(...[...document.querySelectorAll(".fl-block > .fl-status")].map((status) => status.textContent)))
          .observe(document.querySelector(".fl-block"), { childList: true, subtree: true, characterData: true });
      });
      // No scripts but those of the page and its frame, before a button is pointed at.
      expect(size(asked) < MOST_BYTES && !asked.some((path) => isKernel(path) || path.includes("module")), `${size(asked)} bytes are loaded before a click: ${asked}`);
      const before = asked.length;
      await page.locator(".fl-open").first().hover();
      for (let tries = 0; !finish && tries < 600; tries++) await page.waitForTimeout(100);
      expect(finish, "pointing at a button loads nothing");
      const opened = panel(page);
      await page.locator(".fl-block > .fl-status").first().waitFor();
      finish();
      const box = await opened;
      await done(box, () => click(box, "▶ run"));
      // In two seconds, 10 Mbit/s bring 2.5 MB.
      expect(size(asked.slice(before)) < 2.5e6, `a click loads ${size(asked.slice(before))} bytes: ${asked.slice(before)}`);
      const said = await page.evaluate(() => globalThis.said);
      expect(said.some((text) => /\d\.\d of \d\.\d MB/.test(text)), `the progress is ${said}`);
      expect(asked.includes("/page/module.wasm.gz") && !asked.includes("/page/module.js"), `it asks for ${asked}`);
      const file = await page.locator("main code[data-file]").first().getAttribute("data-file");
      expect(String(asked.filter(isKernel)) === `/page/kernels/${file}.js`, `of the kernels it loads ${asked.filter(isKernel)}`);
      // Another kernel of the book comes when a command names it.
      await box.locator(".fl-command").fill("run book/kernels/saxpy.cu --block 4 --arg u32:4 --arg f32:2 --arg f32[4]:iota --arg f32[4]:1");
      await done(box, () => click(box, "do as written"));
      expect((await box.locator(".fl-outcome").innerText()).includes("1 blocks"), "another kernel doesn't run");
    }, hold);
  },

  async "at 10 Mbit/s a panel opens in two seconds"({ expect, open, book }) {
    await served(book, async (origin) => {
      let shortest = Infinity;
      for (let turn = 0; turn < 3; turn++) {
        const page = await open(KERNEL, { origin });
        await page.waitForLoadState("networkidle");
        const session = await page.context().newCDPSession(page);
        await session.send("Network.enable");
        await session.send("Network.emulateNetworkConditions", { offline: false, latency: 20, downloadThroughput: 10e6 / 8, uploadThroughput: 10e6 / 8 });
        const seconds = await page.evaluate(async () => {
          const begun = performance.now();
          document.querySelector(".fl-open").click();
          while (!document.querySelector(".fl-panel")) await new Promise((resolve) => requestAnimationFrame(resolve));
          return (performance.now() - begun) / 1000;
        });
        shortest = Math.min(shortest, seconds);
        await page.close();
      }
      console.log(`from a click to the panel at 10 Mbit/s: ${shortest.toFixed(2)} s`);
      expect(shortest <= SECONDS * SLACK, `from a click to the panel it takes ${shortest} s`);
    });
  },
};
