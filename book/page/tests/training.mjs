// Tests of the network that trains in the page.

/** Points on an arc around (x, y), from one angle to another, in degrees. */
const arc = (x, y, width, height, from, to) => Array.from({ length: 13 }, (_, at) => {
  const angle = ((from + ((to - from) * at) / 12) * Math.PI) / 180;
  return [x + width * Math.cos(angle), y + height * Math.sin(angle)];
});
/** The strokes of each digit, in a field of 1 by 1. */
const DIGITS = [
  [arc(0.5, 0.5, 0.3, 0.5, -90, 270)],
  [[[0.55, 0], [0.45, 1]]],
  [[...arc(0.5, 0.27, 0.3, 0.27, -160, 40), [0.2, 1], [0.8, 1]]],
  [[...arc(0.45, 0.25, 0.3, 0.25, -140, 90), ...arc(0.45, 0.75, 0.33, 0.25, -90, 140)]],
  [[[0.25, 0], [0.2, 0.55], [0.8, 0.55]], [[0.7, 0.1], [0.65, 1]]],
  [[[0.75, 0], [0.3, 0], [0.27, 0.42], ...arc(0.45, 0.68, 0.32, 0.32, -110, 140)]],
  [[[0.65, 0], [0.35, 0.35], ...arc(0.5, 0.72, 0.28, 0.28, 190, 550)]],
  [[[0.2, 0], [0.8, 0], [0.4, 1]]],
  [[...arc(0.5, 0.25, 0.25, 0.25, 90, -270), ...arc(0.5, 0.75, 0.3, 0.25, -90, 270)]],
  [[...arc(0.5, 0.28, 0.27, 0.28, 0, 360), [0.72, 1]]],
];

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
    // Draws each digit with the pointer, in three sizes and at five positions.
    const wrong = [];
    for (const size of [0.4, 0.6, 0.8]) {
      for (const [right, down] of [[0.5, 0.5], [0, 0], [1, 0], [0, 1], [1, 1]]) {
        for (const [digit, strokes] of DIGITS.entries()) {
          await place.getByRole("button", { name: "clear" }).click();
          await place.locator(".fl-draw").scrollIntoViewIfNeeded();
          const field = await place.locator(".fl-draw").boundingBox();
          const at = ([x, y]) => [field.x + field.width * (0.05 + (0.9 - size) * right + size * x), field.y + field.height * (0.05 + (0.9 - size) * down + size * y)];
          for (const [start, ...points] of strokes) {
            await page.mouse.move(...at(start));
            await page.mouse.down();
            for (const point of points) await page.mouse.move(...at(point));
            await page.mouse.up();
          }
          await page.waitForFunction(() => document.querySelector(".fl-digit").dataset.read === document.querySelector(".fl-draw").dataset.drawn);
          const read = await place.locator(".fl-digit").getAttribute("data-digit");
          if (read !== String(digit)) wrong.push(`${digit} read as ${read} (size ${size}, at ${right}, ${down})`);
        }
      }
    }
    expect(wrong.length <= 15, `of 150 digits ${wrong.length} are read wrong: ${wrong.join(", ")}`);
    await accessible(page, "training");
  },

  async "a kernel that is broken during training is reported, and can be fixed"({ expect, open, type }) {
    const page = await open("page/training.html");
    const place = page.locator('[data-four-levels="training"]');
    await place.locator(".fl-begin").click();
    await place.locator(".fl-go").click();
    await page.waitForFunction(() => Number(document.querySelector("[data-four-levels]").dataset.batches) >= 2);
    const tiled = await page.evaluate(() => fourLevels.kernel("ptx/tiled.ptx"));
    await type(page, place, tiled.replace("st.global.f32 [address], mine", "st.global.f32 [address+1073741824], mine"));
    await place.getByRole("button", { name: "train on with these kernels" }).click();
    await place.locator("pre.fl-fault").waitFor();
    const said = await place.locator("pre.fl-fault").innerText();
    expect(said.includes("illegal address") && said.includes("output"), `it says ${said}`);
    const before = Number(await place.getAttribute("data-batches"));
    await place.getByRole("button", { name: "mend it" }).click();
    await page.waitForFunction((before) => Number(document.querySelector("[data-four-levels]").dataset.batches) > before, before);
  },

  async "each mistake is named by tensor-diff, with the operation"({ expect, open, accessible }) {
    const named = {
      "forget ReLU's mask": ["dz1", /mask/],
      "remove a barrier": ["z1", /product or its bias/],
      "turn the sign of the step": ["w1_next", /sign|added/],
      "leave out 1/B": ["dz2", /64/],
      "update w2 too early": ["da1", /w2_next/],
    };
    const page = await open("page/training.html");
    const place = page.locator('[data-four-levels="training"]');
    await place.locator(".fl-begin").click();
    const verdict = place.locator(".fl-verdict");
    for (const [name, [tensor, cause]] of Object.entries(named)) {
      await place.getByRole("button", { name, exact: true }).click();
      await place.locator(".fl-verdict.fl-fault strong").waitFor();
      const said = await verdict.innerText();
      expect((await verdict.locator("strong").innerText()) === tensor && cause.test(said), `${name}: ${said}`);
      if (name.startsWith("forget")) await accessible(page, "training-broken");
      await place.getByRole("button", { name: "mend it" }).click();
      await place.locator(".fl-verdict.fl-solved").waitFor();
    }
  },
};
