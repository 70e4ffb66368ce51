// Tests for different readers: with a keyboard only, on a small screen, with the dark theme, without scripts.

import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";

export default {
  async "a keyboard is enough"({ expect, open }) {
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
    expect((await page.locator(".fl-panel .fl-moment").innerText()).startsWith("1 of"), "an arrow doesn't step");
    for (let presses = 0; presses < 60 && !(await page.evaluate(() => document.activeElement.matches(".fl-title button"))); presses++) {
      // In the editor, Tab indents; after Escape it leaves.
      if (await page.evaluate(() => document.activeElement.matches(".cm-content"))) await page.keyboard.press("Escape");
      await page.keyboard.press("Shift+Tab");
    }
    await page.keyboard.press("Enter");
    expect(await page.evaluate(() => document.activeElement.matches(".fl-open")), "closing doesn't lead back to the button");
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

  // Each page in one of the four settings, in turns, so that similar pages are tested in all of them. With EVERY_SETTING,
  // which scripts/nightly.sh sets, each page is tested in all four.
  async "every page, on a wide screen or a narrow one, in one theme or the other"({ expect, open, visit, pages, accessible }) {
    const settings = [[1280, false], [390, true], [1280, true], [390, false]];
    let most = 0;
    for (const [turn, [width, dark]] of settings.entries()) {
      const page = await open("introduction.html", { width, dark });
      let loaded = [];
      page.on("request", (request) => loaded.push(request.url().replace(/[?#].*/, "")));
      for (const path of pages().filter((_, at) => process.env.EVERY_SETTING || at % 4 === turn)) {
        loaded = [];
        await visit(page, path);
        const bytes = loaded.filter((name) => name.startsWith("file:")).reduce((sum, name) => sum + statSync(fileURLToPath(name)).size, 0);
        most = Math.max(most, bytes);
        expect(bytes <= 0.7e6 && loaded.length > 10, `${path} loads ${bytes} bytes before something is run: ${loaded}`);
        expect(!loaded.some((name) => /\/page\/kernels\/|module\.|codemirror\.js/.test(name)), `${path} loads ${loaded}`);
        await accessible(page, `${path.replace(".html", "")}-${width}${dark ? "-dark" : ""}`);
        const smallest = await page.evaluate(() => Math.min(...[...document.querySelectorAll("main svg text")].map((text) => {
          const svg = text.closest("svg");
          return parseFloat(getComputedStyle(text).fontSize) * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
        })));
        expect(smallest >= 9, `${path}: a label has ${smallest} pixels on a screen of ${width}`);
      }
    }
    console.log(`before something is run, a page loads at most ${most} bytes`);
  },

  async "a picture of a warp becomes interactive in place, at its step"({ expect, open, visit, pages }) {
    let count = 0;
    const page = await open("introduction.html");
    for (const path of pages("fl-still")) {
      await visit(page, path);
      const total = await page.locator(".fl-still").count();
      for (let at = 0; at < total; at++) {
        const still = page.locator(".fl-still").first();
        const rows = (view) => view.locator("tr[data-register]").evaluateAll((rows) => Object.fromEntries(rows.map((row) => [row.dataset.register, [...row.cells].map((cell) => cell.innerText.trim()).join(" ")])));
        const lanes = (view) => view.locator(".fl-registers thead th").evaluateAll((cells) => cells.map((cell) => cell.className).join(" "));
        const drawn = [await rows(still), await lanes(still), await still.locator(".fl-moment").innerText(), await still.locator(".fl-cells:not(.fl-strip)").allInnerTexts()];
        const figure = page.locator(".fl-first").nth(at);
        await still.getByLabel("one instruction of this warp further").click();
        await figure.locator(".fl-slider").waitFor();
        await figure.getByLabel("one instruction of this warp back").click();
        const view = figure.locator(".fl-view");
        const live = [await rows(view), await lanes(view), await view.locator(".fl-moment").innerText(), await view.locator(".fl-cells:not(.fl-strip)").allInnerTexts()];
        for (const [name, values] of Object.entries(drawn[0])) expect(live[0][name] === values, `${path}: ${name} is drawn ${values} and is ${live[0][name]}`);
        expect(drawn[1] === live[1] && drawn[2] === live[2] && String(drawn[3]) === String(live[3]), `${path}: drawn ${drawn.slice(1)}, and it is ${live.slice(1)}`);
        count++;
      }
    }
    expect(count >= 7, `${count} pictures`);
  },

  async "without scripts the page can be read"({ expect, open, pages }) {
    for (const path of ["gpu/divergence.html", ...pages().filter((path) => path.startsWith("page/"))]) {
      const page = await open(path, { script: false });
      expect((await page.locator(".fl-block").count()) === 0, `${path}: there are buttons that do nothing`);
      expect((await page.locator("main").innerText()).length > 600, `${path}: there is little to read`);
    }
  },
};
