// Tests of the network that trains in the page.

export default {
  async "it reaches a loss below 0.1, and recognises a drawn digit"({ expect, open, accessible }) {
    const page = await open("page/training.html");
    const place = page.locator('[data-four-levels="training"]');
    await place.locator(".fl-begin").click();
    await place.locator(".fl-go").click();
    // The status when the loss is below the bound: until training stops, another batch may raise it again.
    const below = await page.waitForFunction(() => {
      const place = document.querySelector('[data-four-levels="training"]');
      const said = place.querySelector(".fl-state").innerText;
      return place.dataset.loss && Number(place.dataset.loss) < 0.1 && said.includes(" % of ") && said;
    }, null, { timeout: 600_000 });
    const said = await below.jsonValue();
    await place.locator(".fl-go").click();
    expect(/loss 0\.0\d+, \d+\.\d % of 256/.test(said), `it says ${said}`);
    expect(Number(/([\d.]+) %/.exec(said)?.[1]) > 80, `it says ${said}`);
    // Draws a one with the pointer.
    await place.locator(".fl-draw").scrollIntoViewIfNeeded();
    const field = await place.locator(".fl-draw").boundingBox();
    await page.mouse.move(field.x + field.width * 0.55, field.y + field.height * 0.2);
    await page.mouse.down();
    await page.mouse.move(field.x + field.width * 0.48, field.y + field.height * 0.8, { steps: 12 });
    await page.mouse.up();
    await place.locator(".fl-digit[data-digit]").waitFor();
    await page.waitForFunction(() => document.querySelector(".fl-digit").dataset.digit === "1", null, { timeout: 20_000 }).catch(() => {});
    expect((await place.locator(".fl-digit").getAttribute("data-digit")) === "1", "a stroke is not recognised as a one");
    await accessible(page, "training");
  },

  async "a kernel that is broken during training is reported, and can be fixed"({ expect, open, type }) {
    const page = await open("page/training.html");
    const place = page.locator('[data-four-levels="training"]');
    await place.locator(".fl-begin").click();
    await place.locator(".fl-go").click();
    await page.waitForFunction(() => Number(document.querySelector("[data-four-levels]").dataset.batches) >= 2);
    await place.locator("summary").click();
    const tiled = await page.evaluate(() => fourLevels.kernels["ptx/tiled.ptx"]);
    await type(page, place, tiled.replace("st.global.f32 [address], mine", "st.global.f32 [address+1073741824], mine"));
    await place.getByRole("button", { name: "train on with these kernels" }).click();
    await place.locator(".fl-fault").waitFor();
    const said = await place.locator(".fl-fault").innerText();
    expect(said.includes("illegal address") && said.includes("output"), `it says ${said}`);
    const before = Number(await place.getAttribute("data-batches"));
    await place.getByRole("button", { name: "mend them" }).click();
    await page.waitForFunction((before) => Number(document.querySelector("[data-four-levels]").dataset.batches) > before, before);
  },
};
