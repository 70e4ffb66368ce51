// Tests that every puzzle fails with its frame and passes with its solution, and that progress is stored.

export default {
  async "each fails with its frame, and passes with its solution"({ expect, open, type, accessible }) {
    const page = await open("page/puzzles.html");
    await page.locator(".fl-begin").click();
    const list = page.locator(".fl-puzzles");
    await list.waitFor();
    const names = await list.locator("a").evaluateAll((links) => links.map((link) => link.getAttribute("href").slice(1)));
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
};
