// Tests of the front door: the first page runs a kernel and trains a network, and leads on.

export default {
  async "one button lights up the lanes and trains a network"({ expect, open, accessible }) {
    for (const [width, dark] of [[1280, false], [390, true]]) {
      const page = await open("introduction.html", { width, dark });
      const place = page.locator('[data-four-levels="front"]');
      await place.locator(".fl-begin").click();
      await place.locator(".fl-row32 .fl-active").first().waitFor();
      expect((await place.locator(".fl-row32 span").count()) === 32, "a warp has 32 lanes");
      await page.waitForFunction(() => document.querySelectorAll(".fl-row32 .fl-active").length === 20);
      await accessible(page, `front-${width}${dark ? "-dark" : ""}`);
      await place.getByText("y is now").waitFor();
      const said = await place.innerText();
      expect(said.includes("1 3 5 7"), `y is not 2x + 1: ${said}`);
      await page.waitForFunction(() => /[1-9]\d* batches of 256 digits: \d+\.\d\d billion/.test(document.querySelector('[data-four-levels="front"]').innerText));
      await place.getByRole("button", { name: "■ stop the training" }).click();
      await page.locator('[data-four-levels="front"][data-done]').waitFor();
      for (const link of await page.locator(".fl-doors a").evaluateAll((links) => links.map(({ href }) => href))) {
        expect(/^file:.*\.html/.test(link), `a way on leads to ${link}`);
      }
      expect((await page.locator(".fl-doors a").count()) === 3, "there are not three ways on");
    }
  },
};
