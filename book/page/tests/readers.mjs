// Readers of all kinds: by the keyboard alone, on a small screen, in the dark, without scripts.

export default {
  async "the keyboard alone suffices"({ expect, open }) {
    const page = await open("gpu/divergence.html");
    const reach = async (fits, what) => {
      for (let presses = 0; presses < 300; presses++) {
        await page.keyboard.press("Tab");
        if (await page.evaluate(fits)) return;
      }
      expect(false, `the keyboard doesn't reach ${what}`);
    };
    await page.locator("main h1").first().click();
    await reach(() => document.activeElement.matches(".fl-open"), "the button that opens");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement.textContent === "▶ run");
    await page.keyboard.press("Enter");
    await page.locator(".fl-text").waitFor();
    await reach(() => document.activeElement.textContent === "look into a warp" && document.activeElement.closest(".fl-bar"), "the look into a warp");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement.matches(".fl-view"));
    await page.keyboard.press("ArrowRight");
    expect((await page.locator(".fl-moment").innerText()).startsWith("1 of"), "an arrow doesn't step");
    for (let presses = 0; presses < 60 && !(await page.evaluate(() => document.activeElement.matches(".fl-title button"))); presses++) await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Enter");
    expect(await page.evaluate(() => document.activeElement.matches(".fl-open")), "closing leads back to the button");
  },

  async "a wide screen, a narrow one, and the dark"({ open, panel, done, click, accessible }) {
    for (const [width, dark] of [[1280, false], [1280, true], [390, false], [390, true]]) {
      const name = `${width}${dark ? "-dark" : ""}`;
      const page = await open("gpu/divergence.html", { width, dark });
      const box = await panel(page);
      await done(box, () => click(box, "profile"));
      await accessible(page, `profile-${name}`);
      await done(box, () => click(box, "look into a warp"));
      for (let at = 0; at < 6; at++) await box.getByLabel("one instruction of this warp further").click();
      await accessible(page, `warp-${name}`);
      const other = await open("gpu/sanitizer/threads.html", { width, dark });
      const race = await panel(other, 0);
      await done(race, () => click(race, "do as written"));
      await accessible(other, `fault-${name}`);
    }
  },

  async "without scripts the page is the book"({ expect, open, pages }) {
    for (const path of ["gpu/divergence.html", ...pages().filter((path) => path.startsWith("page/"))]) {
      const page = await open(path, { script: false });
      expect((await page.locator(".fl-block").count()) === 0, `${path}: there are buttons that do nothing`);
      expect((await page.locator("main").innerText()).length > 600, `${path}: there is little to read`);
    }
  },

  async "the first view is below a megabyte, and the emulator waits until it is asked for"({ expect, open }) {
    const page = await open("introduction.html");
    const files = await page.evaluate(() => performance.getEntriesByType("resource").map(({ name, encodedBodySize }) => [name, encodedBodySize]));
    expect(!files.some(([name]) => /module\.js|codemirror\.js|kernels\.js/.test(name)), "the emulator is loaded at once");
  },
};
