// Tests of the bug hunt in its page: nothing is loaded before it is asked for, a wrong line is explained, the right one is
// found and written, and the progress is kept.

/** Does something that asks the device, and waits for the answer below. */
async function answered(page, act) {
  const answer = page.locator(".fl-panel [aria-live]");
  const before = (await answer.getAttribute("data-done")) ?? "0";
  await act();
  await page.waitForFunction(([before]) => (document.querySelector(".fl-panel [aria-live]")?.dataset.done ?? "0") !== before, [before]);
  return answer.innerText();
}

const shown = (page, number) => page.locator(`.fl-panel[data-shown="${number}"] .fl-choice`).first().waitFor();
const line = (page, start) => page.locator(".fl-choice").filter({ hasText: new RegExp(`^${start} `) }).click();

export default {
  async "a bug is found, written and remembered"({ expect, open, accessible }) {
    for (const [width, dark] of [[1280, false], [390, true]]) {
      const page = await open("isolate/hunt.html", { width, dark });
      const loaded = () => page.evaluate(() => [...document.querySelectorAll("script")].map(({ src }) => src.split("/").pop()).filter((name) => /^(hunt|kernels|module)/.test(name)));
      expect((await loaded()).length === 0, `loaded before it is asked for: ${await loaded()}`);
      await page.locator(".fl-begin").click();
      await shown(page, 1);
      expect(String((await loaded()).filter((name) => name.startsWith("hunt-"))) === "hunt-softmax.js", `loaded for bug 1: ${await loaded()}`);
      const differ = await page.locator(".fl-differs th").allInnerTexts();
      expect(differ[0] === "z2" && !differ.includes("a1"), `tensors that differ: ${differ}`);
      const wrong = await answered(page, () => line(page, "dw1"));
      expect(wrong.includes("dw1 of the dump is the result of its right formula"), `a wrong line: ${wrong}`);
      const right = await answered(page, () => line(page, "z2"));
      expect(right.includes("the line of z2 is wrong"), `the right line: ${right}`);
      expect((await page.locator(".fl-score").innerText()).includes("0 of 12 solved, 1 more found"), "the line isn't counted as found");
      const field = page.locator(".fl-panel form input");
      const check = () => page.getByRole("button", { name: "▶ check it" }).click();
      expect((await answered(page, check)).includes("has no bug"), "the right step passes for the bug");
      await field.fill("z2 = a1 @");
      expect((await answered(page, check)).includes("the formula ends too early"), "a broken formula isn't explained");
      await field.fill("z2 = a1 @ w2.T");
      const solved = await answered(page, check);
      expect(solved.includes("makes every tensor of the dump") && solved.includes("The bias is missing"), `solved: ${solved}`);
      await accessible(page, `hunt-${width}${dark ? "-dark" : ""}`);
      // The next visit begins with the next bug.
      await page.reload();
      await page.locator(".fl-begin").click();
      await shown(page, 2);
      expect((await page.locator(".fl-score").innerText()).includes("1 of 12 solved"), "the progress is lost");
    }
  },

  async "each of the twelve has its symptoms, and tensor-diff names its operation"({ expect, open }) {
    const page = await open("isolate/hunt.html");
    await page.locator(".fl-begin").click();
    for (let number = 1; number <= 12; number++) {
      await page.getByRole("button", { name: `bug ${number}`, exact: true }).click();
      await shown(page, number);
      const solution = await answered(page, () => page.getByRole("button", { name: "the solution" }).click());
      const tensor = solution.split(" ")[0];
      expect((await page.locator(".fl-differs th").first().innerText()) === tensor, `bug ${number}: ${tensor} isn't the first that differs`);
      const said = await answered(page, () => page.getByRole("button", { name: "let tensor-diff look" }).click());
      expect(said.startsWith(tensor), `bug ${number}: tensor-diff says ${said}`);
    }
  },
};
