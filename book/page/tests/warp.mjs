// Tests of the view of a warp: forwards and backwards through a divergent kernel.

/** The displayed registers, by name: 32 values each. */
const registers = (box) => box.locator(".fl-registers tbody tr").evaluateAll((rows) =>
  Object.fromEntries(rows.map((row) => [row.dataset.register, [...row.querySelectorAll("td")].map((cell) => cell.textContent)])));

async function look(page, { expect, blockOf }, file) {
  const block = page.locator(".fl-block").nth(await blockOf(page, file));
  await block.locator(".fl-look").click();
  await block.locator(".fl-view").waitFor();
  expect(await block.locator(".fl-view").isVisible(), "the view is not shown");
  return block.locator(".fl-panel");
}

export default {
  async "through a divergent kernel, forwards and back, with the registers of the trace"(tools) {
    const { expect, open, done } = tools;
    const page = await open("gpu/divergence.html");
    const box = await look(page, tools, "book/kernels/branch.ptx");
    const moments = [];
    const state = async () => JSON.stringify([await box.locator(".fl-moment").innerText(), await registers(box), await box.locator(".fl-registers thead th").evaluateAll((cells) => cells.map((cell) => cell.className))]);
    const further = box.getByLabel("one instruction of this warp further");
    const back = box.getByLabel("one instruction of this warp back");
    for (let at = 0; at < 13; at++) {
      moments.push(await state());
      await further.click();
    }
    const last = await registers(box);
    expect(moments.some((moment) => moment.includes("fl-else")), "no lane was ever elsewhere");
    for (let at = 12; at >= 0; at--) {
      await back.click();
      expect((await state()) === moments[at], `back at ${at}: ${await state()}, and it was ${moments[at]}`);
    }
    // The final values of each lane are the last ones in its thread's trace.
    for (const thread of [0, 5, 31]) {
      await box.locator(".fl-command").fill(`trace book/kernels/branch.ptx --arg u32:1 --arg u32[32]:0 --thread ${thread}`);
      await done(box, () => box.locator(".fl-command").press("Enter"));
      const trace = await box.locator(".fl-text").textContent();
      for (const [name, values] of Object.entries(last)) {
        const said = [...trace.matchAll(new RegExp(`→.*?${name.replace("%", "%")} = ([^,\\n]+)`, "g"))].pop()?.[1];
        expect(said === values[thread], `thread ${thread}: ${name} is ${values[thread]} in the view and ${said} in the trace`);
      }
    }
  },

  async "to a line, to a warp, to a block, by the slider and by keys"(tools) {
    const { expect, open } = tools;
    const page = await open("gpu/together.html");
    const box = await look(page, tools, "book/kernels/sum-shared.ptx");
    expect((await box.locator(".fl-warps li").count()) === 8, "a block of 256 threads has eight warps");
    const line = await box.locator(".fl-listing button:not(:disabled)").evaluateAll((lines) => lines.findIndex((line) => line.textContent.includes("bar.sync")));
    await box.locator(".fl-listing button:not(:disabled)").nth(line).click();
    expect((await box.locator(".fl-moment").innerText()).includes("bar.sync"), "it does not run to the line");
    await box.locator(".fl-warps button").nth(3).click();
    expect((await box.locator(".fl-registers caption").innerText()).includes("warp 3"), "another warp is shown");
    await box.locator(".fl-slider").fill("200");
    expect((await box.locator(".fl-moment").innerText()).startsWith("200 of"), "the slider doesn't change the step");
    expect((await box.locator('.fl-warps li[data-waits="true"]').count()) > 0, "no warp waits at the barrier");
    await box.locator(".fl-view").focus();
    await page.keyboard.press("Home");
    expect((await box.locator(".fl-moment").innerText()).startsWith("0 of"), "Home doesn't lead to the beginning");
    await page.keyboard.press("ArrowRight");
    expect((await box.locator(".fl-moment").innerText()).startsWith("1 of"), "an arrow doesn't step");
    await page.keyboard.press("ArrowLeft");
    expect((await box.locator(".fl-moment").innerText()).startsWith("0 of"), "an arrow doesn't step back");

    const blocks = await open("gpu/threads.html");
    const other = await look(blocks, tools, "book/kernels/who.ptx");
    await other.getByLabel("The block, by its number in the grid").fill("1");
    await other.getByLabel("The block, by its number in the grid").press("Enter");
    await blocks.waitForFunction(() => document.querySelector(".fl-view input[type=number]").value === "1");
    await other.getByLabel("to the end").click();
    expect(Object.values(await registers(other)).some((values) => values.every((value) => value === "1")), "no register has the number of the block");
  },

  async "the sectors of an access and the banks of another are lit"(tools) {
    const { expect, open } = tools;
    const page = await open("gpu/coalescing.html");
    const box = await look(page, tools, "book/kernels/transpose.ptx");
    const reach = async (text) => {
      const at = await box.locator(".fl-listing button:not(:disabled)").evaluateAll((lines, text) => lines.findIndex((line) => line.textContent.includes(text)), text);
      await box.locator(".fl-listing button:not(:disabled)").nth(at).click();
      return box.locator(".fl-access").first();
    };
    expect((await (await reach("ld.global")).getAttribute("data-sectors")) === "4", "32 words in a row are not four sectors");
    expect((await box.locator(".fl-lit").count()) === 4, "not four sectors are lit");
    const stride = await (await reach("ld.shared")).getAttribute("data-passes");
    expect(stride === "32", `a column of 32 rows is read in ${stride} passes`);
    expect((await box.locator(".fl-bad").count()) === 1, "the bank of the conflict is not lit");
  },

  async "a kernel in CUDA C is stepped line by line, with its variables"(tools) {
    const { expect, accessible } = tools;
    for (const [width, dark] of [[1280, false], [390, true]]) {
      const page = await tools.open("gpu/divergence.html", { width, dark });
      const box = await look(page, tools, "book/kernels/branch.cu");
      const further = box.getByLabel("one instruction of this warp further");
      const here = box.locator(".fl-listing").first().locator(".fl-here");
      const lines = [];
      for (let at = 0; at < 12 && (await here.count()); at++) {
        lines.push(Number(await here.locator(".fl-number").innerText()));
        if (lines.at(-1) === 6) {
          const said = await box.locator(".fl-sentence").innerText();
          expect(said === "The odd lanes add and write out; the even lanes wait for their turn.", `it says ${said}`);
          const variables = await box.locator(".fl-registers tbody tr:not(.fl-rest) th").allInnerTexts();
          expect(variables.includes("i") && !variables.some((name) => name.startsWith("%")), `the line's variables are ${variables}`);
          // All lanes are in view at once, and a cell tells its number.
          const cells = await box.locator(".fl-registers thead th").evaluateAll((cells) => cells.map((cell) => cell.getBoundingClientRect()).map(({ left, right }) => [left, right]));
          expect(cells.length === 33 && cells.every(([left, right]) => left >= 0 && right <= width), "a lane is out of view");
          await box.locator(".fl-registers tr:not(.fl-rest) td").nth(5).click();
          expect((await box.locator(".fl-readout").innerText()).includes("lane 5"), "a cell doesn't tell its number");
          await accessible(page, `warp-cuda-${width}${dark ? "-dark" : ""}`);
        }
        await further.click();
      }
      expect([5, 6, 8].every((line) => lines.includes(line)) && lines.every((line) => line <= 9), `its lines are ${lines}`);
      // With the PTX open, the same keys go instruction by instruction.
      expect(!(await box.locator(".fl-ptx .fl-listing").isVisible()), "the PTX is not folded away");
      await box.locator(".fl-ptx summary").click();
      await box.getByLabel("to the beginning").click();
      await box.locator(".fl-ptx .fl-here").waitFor();
      await further.click();
      expect((await box.locator(".fl-moment").innerText()).startsWith("1 of"), "an open PTX is not stepped by instructions");
    }
  },

  async "it plays by itself, and stops at a click"(tools) {
    const { expect, open } = tools;
    const page = await open("gpu/divergence.html");
    const box = await look(page, tools, "book/kernels/branch.ptx");
    await box.getByRole("button", { name: "play" }).click();
    await page.waitForFunction(() => /^[3-9] of/.test(document.querySelector(".fl-moment").innerText));
    await box.getByRole("button", { name: "pause" }).click();
    const said = await box.locator(".fl-moment").innerText();
    await page.waitForTimeout(1200);
    expect((await box.locator(".fl-moment").innerText()) === said, "it goes on after a pause");
  },
};
