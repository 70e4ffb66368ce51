// Tests of editing a kernel: diagnostics while typing, stopping an endless kernel, sharing and resetting changes.

import { deflateRawSync } from "node:zlib";

const KERNEL = "gpu/divergence.html";

/** The text of the editor, of either kind. */
const text = (box) => box.locator("textarea.fl-field, .cm-content").first().evaluate((field) => field.value ?? field.cmTile?.view?.state.doc.toString() ?? field.innerText);

export default {
  async "a mistake is underlined, and explained"({ expect, open, panel, type }) {
    const page = await open(KERNEL);
    const box = await panel(page);
    await type(page, box, ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k()\n{\n    .reg .u32 %a;\n    mov.u32 %a, %b;\n    ret;\n}\n");
    await box.locator(".fl-diagnostics .fl-error").waitFor();
    const said = await box.locator(".fl-diagnostics").innerText();
    expect(said.includes("line 7") && said.includes("%b"), `the diagnostic is: ${said}`);
    expect((await box.locator(".cm-lintRange-error").innerText()) === "%b", "the mistake is not underlined");
    await box.locator(".fl-diagnostics button").first().click();
    expect(await page.evaluate(() => getSelection().toString().includes("mov.u32")), "the line is not selected");
  },

  async "a fixed kernel runs, and the counts are in the margin"({ expect, open, panel, done, click, type }) {
    const page = await open(KERNEL);
    const box = await panel(page);
    await type(page, box, ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry branch(.param .u32 bit, .param .u64 out)\n{\n    .reg .u64 %o, %k;\n    .reg .u32 %i;\n    mov.u32 %i, %tid.x;\n    ld.param.u64 %o, [out];\n    mul.wide.u32 %k, %i, 4;\n    add.u64 %o, %o, %k;\n    st.global.u32 [%o], %i;\n    ret;\n}\n");
    await done(box, () => click(box, "profile"));
    const cost = await box.locator(".fl-cost span").allInnerTexts();
    expect(cost.length === 6 && cost.every((count) => count === "1"), `the margin has ${cost}`);
    expect((await box.locator(".fl-cost span").nth(4).getAttribute("title")).includes("4.0 sectors"), "the store's sectors are not in the margin");
    await done(box, () => click(box, "▶ run"));
    const buffer = box.locator('.fl-buffer[data-place="argument 1"]');
    expect((await buffer.locator("table").first().locator("td").allInnerTexts()).join(" ") === [...Array(32).keys()].join(" "), "the table has other numbers");
    expect((await buffer.locator("canvas").count()) === 2, "there are no heat maps of this kernel's result and the book's");
    await box.getByRole("button", { name: "reset" }).click();
    expect((await text(box)).includes("ODD:"), "reset does not restore the book's kernel");
  },

  async "a fault names the line, the thread and the element, once"({ expect, open, panel, done }) {
    const page = await open("gpu/kernel.html");
    const box = await panel(page, 1);
    await box.locator(".fl-command").fill("run book/kernels/saxpy.ptx --grid 2 --block 4 --arg u32:6 --arg f32:2 --arg f32[8]:iota --arg f32[5]:1");
    await done(box, () => box.locator(".fl-command").press("Enter"));
    const fault = await box.locator(".fl-fault").innerText();
    expect(/illegal address/.test(fault) && /line \d+/.test(fault) && fault.includes("Thread 1 of block 1 reads y[5], and y has 5 elements, y[0] to y[4]."), `the fault is told so: ${fault}`);
    expect(!(await box.locator(".fl-text").isVisible()), "the fault is shown twice");
    await box.locator(".fl-fault button").first().click();
    expect(await page.evaluate(() => /ld|st/.test(getSelection().toString())), "the line of the fault is not selected");
  },

  async "a race names its element, and advice that helps"({ expect, open, blockOf, panel, click, done, type }) {
    const page = await open("gpu/together.html");
    const box = await panel(page, await blockOf(page, "book/kernels/sum-shared.cu"));
    const whole = await text(box);
    await type(page, box, whole.replaceAll("__syncthreads();", ""));
    await done(box, () => click(box, "▶ run"));
    const early = await box.locator(".fl-fault").innerText();
    expect(/Thread 0 of block 0 reads partial\[\d+\], which no thread has written: either a barrier is missing/.test(early), `it says ${early}`);
    await box.getByLabel("initcheck").uncheck();
    await done(box, () => click(box, "▶ run"));
    const fault = await box.locator(".fl-fault").innerText();
    expect(/(reads|writes|updates) partial\[\d+\], which thread \d+ of block 0 (wrote|read) before/.test(fault), `it says ${fault}`);
    expect(fault.includes("__syncthreads") && !fault.includes("__syncwarp"), `the advice is ${fault}`);
    await box.locator(".fl-fault button").first().click();
    expect(await page.evaluate(() => getSelection().toString().includes("partial")), "the line of the reader's file is not selected");
  },

  async "what the book's kernel computes is next to the result of an edited one, and costs are next to CUDA C"({ expect, open, blockOf, panel, click, done, type }) {
    const page = await open("gpu/divergence.html");
    const box = await panel(page, await blockOf(page, "book/kernels/branch.cu"));
    await done(box, () => click(box, "▶ run"));
    expect((await box.locator(".fl-differs").count()) === 0, "the book's own kernel differs from itself");
    await type(page, box, (await text(box)).replace("= i + 100;", "= i + 1000;"));
    await done(box, () => click(box, "▶ run"));
    const differs = await box.locator(".fl-differs").innerText();
    expect(/^Element 1 is 1001; with the book's kernel it is 101\.$/.test(differs), `it says ${differs}`);
    await done(box, () => click(box, "profile"));
    const costs = await box.locator(".fl-cost span").evaluateAll((costs) => costs.map((cost) => cost.title));
    expect(costs.some((cost) => /16 lanes|16\.0 lanes/.test(cost)), `the costs are ${costs}`);
    const lines = await box.locator(".cm-lineNumbers .cm-gutterElement").count();
    expect(costs.length > 2 && costs.length < lines, `${costs.length} lines have costs`);
  },

  async "a runaway kernel is stopped, and the page stays usable"({ expect, open, blockOf, panel, done, click }) {
    const page = await open("gpu/sanitizer/threads.html");
    const box = await panel(page, await blockOf(page, "book/kernels/faults/runaway.ptx"));
    await box.locator(".fl-command").fill("run book/kernels/faults/runaway.ptx --arg u32[1]:0 --limit 1000000000000");
    const ended = done(box, () => click(box, "do as written"));
    await page.waitForTimeout(1500);
    expect((await box.locator(".fl-status").innerText()) === "running …", "the status is not 'running'");
    await click(box, "■ stop");
    await ended;
    expect((await box.locator(".fl-status").innerText()) === "stopped", "the status is not 'stopped'");
    await box.locator(".fl-command").fill("run book/kernels/faults/runaway.ptx --arg u32[1]:1 --limit 1000000");
    await done(box, () => click(box, "do as written"));
    expect((await box.locator(".fl-text").innerText()).includes("wait: 1 blocks"), "the device doesn't restart");
  },

  async "too much memory is refused, and the page stays usable"({ expect, open, panel, done, click }) {
    const page = await open(KERNEL);
    const box = await panel(page);
    for (const buffer of ["u32[100000000]:0", "u32[500000000]:0"]) {
      await box.locator(".fl-command").fill(`run book/kernels/branch.ptx --arg u32:1 --arg ${buffer}`);
      await done(box, () => click(box, "do as written"));
      const said = await box.locator(".fl-outcome").innerText();
      expect(/out of memory|no more memory/.test(said), `${buffer}: ${said.slice(0, 200)}`);
    }
    await box.locator(".fl-command").fill("run book/kernels/branch.ptx --arg u32:1 --arg u32[32]:0");
    await done(box, () => click(box, "do as written"));
    expect((await box.locator(".fl-text").innerText()).includes("branch: 1 blocks"), "the device doesn't restart");
  },

  async "a link opens the kernel and its launch"({ expect, open, panel, type, click, done }) {
    const page = await open(KERNEL);
    const box = await panel(page);
    const edited = (await text(box)).replace("%i, 100;", "%i, 1000;");
    await type(page, box, edited);
    await box.locator(".fl-command").fill("run book/kernels/branch.ptx --arg u32:2 --arg u32[32]:0");
    await click(box, "share");
    await page.waitForFunction(() => location.hash.startsWith("#kernel="));
    const hash = await page.evaluate(() => location.hash);
    const other = await open(KERNEL, { hash });
    const opened = other.locator(".fl-panel").first();
    await opened.waitFor();
    expect((await opened.locator(".fl-command").inputValue()).includes("u32:2"), "the launch differs");
    await done(opened, () => click(opened, "do as written"));
    expect((await opened.locator(".fl-text").innerText()).includes("1002"), "the kernel differs");
    const wrong = await open(KERNEL, { hash: "#kernel=nonsense" });
    await wrong.locator("main > .fl-problem").waitFor();
    expect((await wrong.locator(".fl-panel").count()) === 0, "an invalid link opens a panel");
  },

  async "a link that unpacks to hundreds of megabytes is refused before it is unpacked"({ expect, open }) {
    const text = (length) => JSON.stringify({ file: "x", line: "", text: " ".repeat(length) });
    const link = (length) => "#kernel=" + deflateRawSync(text(length)).toString("base64url");
    const page = await open(KERNEL, { hash: link(3e8) });
    const said = await page.locator("main > .fl-problem").innerText();
    expect(said.includes("more than 1048576 bytes"), said);
    // The unpacked bytes are counted: at most one piece beyond the limit.
    const read = await page.evaluate(async (packed) => {
      let bytes = 0;
      const { read } = ReadableStreamDefaultReader.prototype;
      ReadableStreamDefaultReader.prototype.read = async function () {
        const part = await read.call(this);
        bytes += part.value?.length ?? 0;
        return part;
      };
      await fourLevels.unpack(packed).catch(() => {});
      return bytes;
    }, link(3e8).slice("#kernel=".length));
    expect(read > 1 << 20 && read < 1 << 22, `${read} bytes were unpacked`);
    const fits = await page.evaluate((packed) => fourLevels.unpack(packed), link(1e6).slice("#kernel=".length));
    expect(fits.text.length === 1e6, "a kernel of a megabyte is refused");
  },

  async "without the editor a plain field has the same checks"({ expect, open, panel, type, done, click }) {
    const page = await open(KERNEL, { without: /codemirror\.js$/ });
    const box = await panel(page);
    expect((await box.locator("textarea.fl-field").count()) === 1, "the plain field is missing");
    await done(box, () => click(box, "▶ run"));
    expect((await box.locator(".fl-text").innerText()).includes("branch: 1 blocks"), "it doesn't run");
    await type(page, box, "nonsense");
    await box.locator(".fl-diagnostics .fl-error").waitFor();
    expect((await box.locator(".fl-diagnostics").innerText()).includes("line 1"), "the diagnostic is missing");
  },
};
