// Tests that nothing leaves a visitor without a way on: failed requests, a worker that dies or doesn't start, two tabs, a page
// that is left and opened again, broken links, an old browser.

const KERNEL = "gpu/divergence.html";
const text = (box) => box.locator("textarea.fl-field, .cm-content").first().evaluate((field) => field.cmTile?.view?.state.doc.toString() ?? field.value ?? field.innerText);

/** Opens the first panel by its button, without waiting for it. Without a pointer, which would load the emulator before. */
const press = (page) => page.locator(".fl-block .fl-open").first().evaluate((button) => button.click());
const problem = (page) => page.locator(".fl-block > .fl-problem");

/** Workers that the tests can reach, and whose first message is late by `delay` milliseconds. */
const workers = (delay) => `
  globalThis.workers = [];
  globalThis.Worker = class extends Worker {
    constructor(...options) { super(...options); workers.push(this); }
    postMessage(...message) {
      if (!${delay} || this.late) return super.postMessage(...message);
      this.late = true;
      setTimeout(() => super.postMessage(...message), ${delay});
    }
  };`;

/** Waits until a panel says that it runs. */
const runs = (page) => page.waitForFunction(() => document.querySelector(".fl-panel .fl-status").textContent === "running …");

export default {
  async "a script that failed once is requested again"({ expect, open }) {
    for (const file of [/\/kernels\/.*\.js$/, /\/panel\.js$/, /\/module\.js$/]) {
      const page = await open(KERNEL, { first: [file, (route) => route.abort()] });
      await press(page);
      await problem(page).waitFor();
      expect((await problem(page).innerText()).includes("click again"), `${file}: ${await problem(page).innerText()}`);
      await press(page);
      await page.locator(".fl-panel").waitFor();
      expect((await problem(page).count()) === 0, `${file}: the problem is still shown`);
    }
  },

  async "a module that can't be compiled or started is loaded again"({ expect, open }) {
    // Not base64; no module; a module that imports what the page doesn't have.
    const imports = Buffer.from([0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 2, 7, 1, 1, 97, 1, 98, 0, 0]).toString("base64");
    const answer = (module) => [/\/module\.js$/, (route) => route.fulfill({ body: `fourLevels.module = "${module}";` })];
    for (const module of ["!", "AAAA"]) {
      const page = await open(KERNEL, { first: answer(module) });
      await press(page);
      await problem(page).waitFor();
      await press(page);
      await page.locator(".fl-panel").waitFor();
    }
    const page = await open(KERNEL, { first: answer(imports) });
    await press(page);
    await page.locator(".fl-panel").waitFor();
    await page.getByRole("button", { name: "▶ run", exact: true }).click();
    await page.locator(".fl-fault").waitFor();
    expect((await page.locator(".fl-fault").innerText()).includes("doesn't start"), "a module that doesn't start says nothing");
  },

  async "a worker can be stopped while it starts, and one that died is replaced"({ expect, open, panel, done, click }) {
    const slow = await open(KERNEL, { before: workers(2000) });
    const waiting = await panel(slow);
    await click(waiting, "▶ run");
    await runs(slow);
    await done(waiting, () => click(waiting, "■ stop"));
    expect((await waiting.locator(".fl-status").innerText()) === "stopped", "Stop doesn't stop a worker that starts");
    await done(waiting, () => click(waiting, "▶ run"));
    expect((await waiting.locator(".fl-text").count()) === 1, "after Stop, nothing runs");

    const page = await open(KERNEL, { before: workers(0) });
    const box = await panel(page);
    await done(box, () => click(box, "▶ run"));
    await box.locator(".fl-command").fill("run book/kernels/branch.ptx --arg u32:1 --arg u32[32]:0");
    // The worker is ended while it runs, as a browser does that is short of memory.
    await done(box, () => page.evaluate(() => {
      [...document.querySelectorAll(".fl-bar button")].find((button) => button.textContent === "▶ run").click();
      const worker = workers.at(-1);
      worker.terminate();
      setTimeout(() => worker.dispatchEvent(new ErrorEvent("error", { message: "killed" })), 100);
    }));
    expect((await box.locator(".fl-fault").innerText()).includes("killed"), "a worker that died says nothing");
    await done(box, () => click(box, "▶ run"));
    expect((await box.locator(".fl-text").innerText()).includes("branch: 1 blocks"), "after a worker died, nothing runs");
  },

  async "a panel that runs for ever leaves the others alone, and closing it stops it"({ expect, open, blockOf, panel, done, click }) {
    const page = await open("gpu/sanitizer/threads.html", { before: workers(0) });
    const endless = await panel(page, await blockOf(page, "book/kernels/faults/runaway.ptx"));
    await endless.locator(".fl-command").fill("run book/kernels/faults/runaway.ptx --arg u32[1]:0 --limit 1000000000000");
    await click(endless, "do as written");
    const other = await panel(page, await blockOf(page, "book/kernels/faults/race.ptx"));
    await done(other, () => click(other, "▶ run"));
    expect((await other.locator(".fl-fault").count()) === 1, "another panel doesn't run");
    expect((await endless.locator(".fl-status").innerText()) === "running …", "another panel stops the first");
    await done(endless, () => endless.getByRole("button", { name: "× close" }).click());
    await endless.locator("xpath=..").locator(".fl-open").click();
    await endless.waitFor();
    expect((await endless.locator(".fl-status").innerText()) === "stopped", "closing a panel doesn't stop its kernel");
  },

  async "an endless loop is ended, and its line is named"({ expect, open, blockOf, panel, done, click }) {
    const page = await open("gpu/sanitizer/threads.html");
    const box = await panel(page, await blockOf(page, "book/kernels/faults/runaway.ptx"));
    await box.locator(".fl-command").fill("run book/kernels/faults/runaway.ptx --arg u32[1]:0");
    await done(box, () => click(box, "do as written"));
    expect(/line \d+/.test(await box.locator(".fl-fault").innerText()), `it says ${await box.locator(".fl-fault").innerText()}`);
  },

  async "arrow keys step in a picture, and don't turn the page"({ expect, open, visit, pages }) {
    const page = await open("introduction.html");
    for (const path of pages("fl-still")) {
      await visit(page, path);
      const here = page.url();
      const button = page.locator(".fl-still").first().getByLabel("one instruction of this warp further");
      await button.click();
      const view = page.locator(".fl-view:not(.fl-still)").first();
      await view.waitFor();
      const moment = () => view.locator(".fl-moment").innerText();
      const before = await moment();
      await page.keyboard.press("ArrowRight");
      expect((await moment()) !== before, `${path}: an arrow doesn't step`);
      await view.getByLabel("one instruction of this warp back").click();
      const after = await moment();
      await page.keyboard.press("ArrowRight");
      expect((await moment()) !== after, `${path}: an arrow doesn't step after a click on a button`);
      await page.waitForTimeout(200);
      expect(page.url() === here, `${path}: an arrow turns the page`);
    }
  },

  async "edits of a kernel are kept when the page is left"({ expect, open, panel, type, click }) {
    const page = await open(KERNEL);
    const box = await panel(page);
    const original = await text(box);
    await type(page, box, "// mine");
    await page.reload();
    const again = await panel(page);
    expect((await text(again)) === "// mine", `the text is ${await text(again)}`);
    await click(again, "reset");
    await page.reload();
    expect((await text(await panel(page))) === original, "after a reset, the edit comes back");
  },

  async "a solution that is looked at leaves the attempt alone, and two tabs keep both attempts"({ expect, open, type }) {
    const puzzle = async (page) => {
      await page.locator(".fl-begin").click();
      await page.locator(".fl-puzzle .fl-try").waitFor();
      return page.locator(".fl-puzzle");
    };
    const page = await open("page/puzzles.html", { hash: "#add-one" });
    const other = await open("page/puzzles.html", { hash: "#guard", beside: page });
    const [box, second] = [await puzzle(page), await puzzle(other)];
    await type(page, box, "// my attempt");
    await type(other, second, "// another");
    await box.getByRole("button", { name: "the solution" }).click();
    expect((await text(box)).includes("+"), "the solution isn't shown");
    await page.keyboard.press("ControlOrMeta+z");
    await box.locator(".fl-try").click();
    await box.locator(".fl-solved").waitFor();
    expect((await page.locator(".fl-puzzles").getAttribute("data-solved")) === "0", "the solution counts as the reader's");
    await box.getByRole("button", { name: "your kernel" }).click();
    expect((await text(box)) === "// my attempt", `the attempt is ${await text(box)}`);
    await page.reload();
    expect((await text(await puzzle(page))) === "// my attempt", "the attempt is lost");
    await other.reload();
    expect((await text(await puzzle(other))) === "// another", "another tab overwrote the attempt");
  },

  async "a link pasted into the same page opens and runs its kernel; a truncated one is an error"({ expect, open, panel, click, type }) {
    const page = await open(KERNEL);
    const box = await panel(page);
    await box.locator(".fl-command").fill("run book/kernels/branch.ptx --arg u32:4 --arg u32[32]:0");
    await click(box, "share");
    await page.waitForFunction(() => location.hash.startsWith("#kernel="));
    const hash = await page.evaluate(() => location.hash);
    const other = await open(KERNEL);
    const own = await panel(other);
    await type(other, own, "// mine");
    await other.evaluate((hash) => { location.hash = hash; }, hash);
    await other.locator(".fl-panel .fl-text").waitFor();
    expect((await other.locator(".fl-command").first().inputValue()).includes("u32:4"), "the launch differs");
    await other.waitForTimeout(300);
    const [top, bar] = await other.evaluate(() => [document.querySelector(".fl-panel").getBoundingClientRect().top, document.querySelector("#mdbook-menu-bar").getBoundingClientRect().bottom]);
    expect(top >= bar, `the menu bar, to ${bar}, covers the panel, from ${top}`);
    await other.evaluate(() => { location.hash = ""; });
    await other.reload();
    expect((await text(await panel(other))) === "// mine", "a link replaced the reader's own text");
    for (const broken of [hash.slice(0, -20), "#kernel="]) {
      const cut = await open(KERNEL, { hash: broken });
      await cut.locator("main > .fl-problem").waitFor();
      expect((await cut.locator("main > .fl-problem").innerText()).includes("new link"), `${broken}: it gives no advice`);
    }
  },

  async "the menu bar stays at the top of a small screen"({ expect, open }) {
    const page = await open("page/puzzles.html", { width: 390, hash: "#add-one" });
    await page.locator(".fl-begin").click();
    await page.locator(".fl-puzzle .fl-try").waitFor();
    for (let turn = 0; turn < 3; turn++) {
      await page.getByRole("link", { name: "next puzzle" }).click();
      await page.waitForTimeout(500);
      const { top, bottom } = await page.locator("#mdbook-menu-bar").evaluate((bar) => bar.getBoundingClientRect());
      expect(bottom <= 0 || Math.abs(top) < 1, `the menu bar is at ${top} to ${bottom}`);
    }
  },

  async "a formula that is wider than a small screen scrolls"({ expect, open, visit, pages }) {
    const page = await open("introduction.html", { width: 390 });
    for (const path of pages('display="block"')) {
      await visit(page, path);
      const cut = await page.locator('math[display="block"]').evaluateAll((all) => all.filter((math) => math.scrollWidth > math.clientWidth + 1 && getComputedStyle(math).overflowX !== "auto").length);
      expect(cut === 0, `${path}: ${cut} formulas are cut off`);
      const wide = await page.locator('math[display="block"]').evaluateAll((all) => Math.max(...all.map((math) => math.getBoundingClientRect().right)));
      expect(wide <= 390, `${path}: a formula reaches to ${wide}`);
    }
  },

  async "in a browser without WebAssembly, or without its vectors, the reason is shown"({ expect, open }) {
    for (const [before, word] of [["delete globalThis.WebAssembly", "switched off"], ["WebAssembly.validate = () => false", "vector"]]) {
      const page = await open(KERNEL, { before });
      await press(page);
      await problem(page).waitFor();
      expect((await problem(page).innerText()).includes(word), `${before}: ${await problem(page).innerText()}`);
    }
  },

  async "from a fault, a button leads to the warp at that instruction"({ expect, open, panel, done }) {
    const page = await open("gpu/kernel.html");
    const box = await panel(page, 1);
    await box.locator(".fl-command").fill("run book/kernels/saxpy.ptx --grid 2 --block 4 --arg u32:6 --arg f32:2 --arg f32[8]:iota --arg f32[5]:1");
    await done(box, () => box.locator(".fl-command").press("Enter"));
    const line = /line (\d+)/.exec(await box.locator(".fl-fault").innerText())[1];
    await done(box, () => box.getByRole("button", { name: "look into it" }).click());
    const here = box.locator(".fl-listing [aria-current]");
    expect((await here.locator(".fl-number").innerText()) === line, `it shows line ${await here.innerText()}, and the fault is in line ${line}`);
    await box.getByLabel("one instruction of this warp back").click();
    expect((await here.locator(".fl-number").innerText()) !== line, "no step leads back");
  },

  async "keys run a kernel, indent its lines, and leave the editor"({ expect, open, panel, done }) {
    const page = await open(KERNEL);
    const box = await panel(page);
    await box.locator(".cm-content").click();
    await done(box, () => page.keyboard.press("ControlOrMeta+Enter"));
    expect((await box.locator(".fl-text").count()) === 1, "Ctrl+Enter doesn't run the kernel");
    const before = await text(box);
    await page.keyboard.press("Tab");
    expect((await text(box)).length > before.length, "Tab doesn't indent");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Tab");
    expect(!(await page.evaluate(() => document.activeElement.matches(".cm-content"))), "Escape and Tab don't leave the editor");
  },
};
