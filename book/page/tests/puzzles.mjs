// Tests that every puzzle fails with its frame and passes with its solution, and that progress is stored.

export default {
  async "each fails with its frame, and passes with its solution"({ expect, open, type, accessible }) {
    const page = await open("page/puzzles.html");
    await page.locator(".fl-begin").click();
    const list = page.locator(".fl-puzzles");
    await list.waitFor();
    const names = await list.locator('a[href^="#"]').evaluateAll((links) => links.map((link) => link.getAttribute("href").slice(1)));
    expect(names.length >= 16, `${names.length} puzzles`);
    const box = page.locator(".fl-puzzle");
    const attempt = async () => {
      const outcome = box.locator(".fl-outcome");
      const before = (await outcome.getAttribute("data-done")) ?? "0";
      await box.locator(".fl-try").click();
      await page.waitForFunction(([outcome, before]) => (outcome.dataset.done ?? "0") !== before, [await outcome.elementHandle(), before]);
    };
    for (const name of names) {
      // The page only shows another puzzle after the browser's event for a changed address, some time after the click.
      await box.evaluate((box) => { box.firstElementChild.dataset.before = ""; });
      await list.locator(`a[href="#${name}"]`).click();
      await box.locator(":scope > :first-child:not([data-before])").waitFor();
      const languages = box.getByRole("group", { name: "The language" }).getByRole("button");
      const solutions = await page.evaluate(async (name) => {
        const puzzles = await fourLevels.common().ask({ do: "puzzles" });
        return puzzles.find((puzzle) => puzzle.name === name).sources.map(({ solution }) => solution);
      }, name);
      for (let at = 0; at < (await languages.count()); at++) {
        await languages.nth(at).click();
        await attempt();
        expect((await box.locator(".fl-fault, .fl-diagnostics li").count()) > 0, `${name}: the frame passes`);
        const said = await box.locator(".fl-fault").allInnerTexts();
        expect(said.join("").length > 40, `${name}: ${said} teaches nothing`);
        await type(page, box, solutions[at]);
        await attempt();
        expect((await box.locator(".fl-solved").count()) === 1, `${name}: the solution fails: ${await box.locator(".fl-outcome").innerText()}`);
        expect((await box.locator(".fl-table tbody tr").count()) === 5, `${name}: no cost is shown`);
      }
    }
    expect((await list.getAttribute("data-solved")) === String(names.length), "the progress is incomplete");
    await page.reload();
    await page.locator(".fl-begin").click();
    await list.waitFor();
    expect((await list.getAttribute("data-solved")) === String(names.length), "the progress is lost");
    await accessible(page, "puzzles");
  },

  async "the frames and solutions on pages can be tried in place"({ expect, open, visit, pages }) {
    let count = 0;
    const page = await open("introduction.html");
    for (const path of pages().filter((path) => path.startsWith("puzzles/"))) {
      await visit(page, path);
      const blocks = page.locator("main code[data-puzzle]");
      expect((await page.locator("main code:is(.language-ptx, .language-cpp):not([data-puzzle], [data-file])").count()) === 0, `${path}: a block can't be tried`);
      await page.evaluate(() => document.querySelectorAll("details").forEach((details) => { details.open = true; }));
      for (let at = 0; at < (await blocks.count()); at++) {
        const text = await blocks.nth(at).getAttribute("data-text");
        const place = page.locator("main pre:has(code[data-puzzle]) + .fl-block").nth(at);
        await place.locator(".fl-open").click();
        await place.locator(".fl-try").click();
        await place.locator(".fl-outcome[data-done]").waitFor();
        const solved = (await place.locator(".fl-solved").count()) === 1;
        expect(solved === text.startsWith("solution"), `${path}, ${text}: ${await place.locator(".fl-outcome").innerText()}`);
        count++;
      }
    }
    expect(count > 100, `${count} texts`);
  },

  async "hints come one by one, and an endless kernel is stopped"({ expect, open, type }) {
    const page = await open("page/puzzles.html", { width: 390, hash: "#add-one" });
    await page.locator(".fl-begin").click();
    const box = page.locator(".fl-puzzle");
    await box.waitFor();
    await box.getByRole("button", { name: "a hint" }).click();
    expect((await box.locator(".fl-hints > div").count()) === 1, "one hint is not shown");
    const frame = await page.evaluate(() => JSON.parse(localStorage.getItem("four-levels-puzzles") ?? "{}"));
    expect(Object.keys(frame).length === 0, "an unedited frame is stored");
    await type(page, box, "extern \"C\" __global__ void add_one(const float *x, float *y) { for (;;) y[0] = x[0]; }");
    await box.locator(".fl-try").click();
    await box.locator(".fl-fault").waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page is wider than a small screen");
  },

  async "a failed attempt is looked into, at the step that failed"({ expect, open, type, accessible }) {
    const failing = {
      // A thread without an element reads beyond the end.
      guard: ['extern "C" __global__ void twice(unsigned n, const float *x, float *y)\n{\n    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n    y[i] = 2 * x[i];\n}\n', 4],
      // The first element is wrong.
      "add-one": ['extern "C" __global__ void add_one(const float *x, float *y)\n{\n    unsigned i = threadIdx.x;\n    float v = x[i];\n    y[i] = v + 2;\n}\n', 5],
    };
    for (const [width, dark] of [[1280, false], [390, true]]) {
      for (const [name, [text, line]] of Object.entries(failing)) {
        const page = await open("page/puzzles.html", { width, dark, hash: `#${name}` });
        await page.locator(".fl-begin").click();
        const box = page.locator(".fl-puzzle");
        await box.waitFor();
        await type(page, box, text);
        await box.locator(".fl-try").click();
        await box.locator(".fl-look-into").click();
        await box.locator(".fl-view").waitFor();
        const here = Number(await box.locator(".fl-here .fl-number").first().innerText());
        expect(here === line, `${name}: it opens at line ${here}`);
        await box.getByLabel("one instruction of this warp back").click();
        expect(Number(await box.locator(".fl-here .fl-number").first().innerText()) < line, `${name}: a step back leads nowhere`);
        await box.getByLabel("one instruction of this warp further").click();
        if (name === "guard") await accessible(page, `puzzle-look-${width}${dark ? "-dark" : ""}`);
      }
    }
  },

  async "progress is counted by chapters, and marked in the table of contents"({ expect, open, type }) {
    const page = await open("page/puzzles.html", { hash: "#add-one" });
    await page.locator(".fl-begin").click();
    const box = page.locator(".fl-puzzle");
    await box.waitFor();
    expect((await page.locator(".fl-puzzles > li").first().innerText()).includes("Threads and blocks 0 of 5"), "a chapter's progress is not shown");
    const solution = await page.evaluate(async () => (await fourLevels.common().ask({ do: "puzzles" }))[0].sources[0].solution);
    await type(page, box, solution);
    await box.locator(".fl-try").click();
    await box.locator(".fl-solved").waitFor();
    expect((await page.locator(".fl-score").innerText()) === "1 of 34 solved", "the score is not shown");
    expect((await page.locator(".fl-puzzles > li").first().innerText()).includes("Threads and blocks 1 of 5"), "a chapter's progress is not counted");
    const chapter = await box.getByRole("link", { name: "the chapter" }).getAttribute("href");
    expect(chapter.endsWith("gpu/threads.html"), `the chapter is ${chapter}`);
    expect((await page.locator("#mdbook-sidebar .fl-done").count()) >= 1, "the table of contents has no mark");
    const other = await open("gpu/threads.html", { beside: page });
    expect((await other.locator("#mdbook-sidebar .fl-done").count()) >= 1, "another page has no mark");
  },
};
