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
    await place.getByRole("button", { name: "look into it" }).click();
    await place.locator(".fl-view").waitFor();
    const here = await place.locator(".fl-listing [aria-current]").innerText();
    expect(here.includes("st.global.f32 [address+1073741824]"), `it opens at ${here}`);
    const before = Number(await place.getAttribute("data-batches"));
    await place.getByRole("button", { name: "mend it" }).click();
    await page.waitForFunction((before) => Number(document.querySelector("[data-four-levels]").dataset.batches) > before, before);
  },

  async "each mistake is named by tensor-diff, with the operation"({ expect, open }) {
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
      await place.getByRole("button", { name: "mend it" }).click();
      await place.locator(".fl-verdict.fl-solved").waitFor();
    }
  },

  async "the page with a broken training and its verdict is accessible, on both screens and in both themes"({ open, accessible }) {
    for (const [width, dark] of [[1280, false], [1280, true], [390, false], [390, true]]) {
      const page = await open("page/training.html", { width, dark });
      const place = page.locator('[data-four-levels="training"]');
      await place.locator(".fl-begin").click();
      await place.getByRole("button", { name: "forget ReLU's mask" }).click();
      await place.locator(".fl-verdict.fl-fault strong").waitFor();
      await place.locator(".fl-go").click();
      await accessible(page, `training-broken-${width}${dark ? "-dark" : ""}`);
    }
  },

  async "the reader's kernels train the network, and a wrong one is named"({ expect, open, type, accessible }) {
    const page = await open("page/puzzles.html", { hash: "#update" });
    await page.locator(".fl-begin").click();
    const box = page.locator(".fl-puzzle");
    await box.locator(".fl-try").waitFor();
    const solution = (name) => page.evaluate(async (name) => {
      const puzzles = await fourLevels.common().ask({ do: "puzzles" });
      return puzzles.find((puzzle) => puzzle.name === name).sources[0].solution;
    }, name);
    await type(page, box, await solution("update"));
    await box.locator(".fl-try").click();
    await box.locator(".fl-solved").waitFor();
    /** Keeps a kernel as the page of puzzles does. */
    const keep = async (name, change = (text) => text, solved = true) => page.evaluate(([name, text, solved]) => {
      fourLevels.memory("four-levels-puzzles").set(`${name}.cu`, { text, solved });
    }, [name, change(await solution(name)), solved]);
    for (const name of ["product", "broadcast", "relu", "sigmoid", "weight-gradient", "bias-gradient"]) await keep(name);
    const other = await open("page/training.html", { beside: page });
    const place = other.locator('[data-four-levels="training"]');
    await place.locator(".fl-begin").click();
    await place.locator(".fl-own li").first().waitFor();
    expect((await place.locator(".fl-own li").count()) === 10, "there are not ten kernels");
    expect((await place.locator(".fl-own .fl-yours").count()) === 7, "there are not seven kernels of the reader");
    const own = place.getByRole("button", { name: "train with your kernels" });
    await own.click();
    await place.locator(".fl-verdict.fl-solved").waitFor();
    await other.waitForFunction(() => /^7 of 10 kernels are yours: \d+\.\d %$/.test(document.querySelector(".fl-credit").innerText));
    await accessible(other, "training-own");
    // It ends by itself, and that is the last line.
    await other.waitForFunction(() => document.querySelector(".fl-go").innerText === "▶ train", null, { timeout: 600_000 });
    const said = await place.locator(".fl-credit").innerText();
    expect(Number(/: ([\d.]+) %/.exec(said)?.[1]) > 80, `it ends with ${said}`);
    // A wrong kernel, written in another tab.
    await keep("relu-backward", (text) => text.replace("> 0.0f ?", "< 0.0f ?"), false);
    const row = place.locator('.fl-own [data-puzzle="relu-backward"]');
    await row.getByText("yours isn't solved").waitFor();
    await own.click();
    await row.getByText("the book's; not yours (wrong numbers)").waitFor();
    await place.locator(".fl-verdict.fl-solved").waitFor();
    await place.getByLabel("also with those that fail their check").check();
    await own.click();
    await place.locator(".fl-verdict.fl-fault strong").waitFor();
    expect((await place.locator(".fl-verdict strong").innerText()) === "dz1", `the tensor is ${await place.locator(".fl-verdict").innerText()}`);
    expect((await place.locator(".fl-verdict code").innerText()) === "dz1 = relu_backward(da1, z1)", `the operation is ${await place.locator(".fl-verdict").innerText()}`);
    expect((await row.innerText()).includes("yours, in CUDA C, unchecked (wrong numbers)"), `the list says ${await row.innerText()}`);
    await other.emulateMedia({ colorScheme: "dark" });
    await accessible(other, "training-own-wrong");
  },
};
