// The panel below a kernel: its text, the command that launches it, and the results.
"use strict";

(() => {
  const { element, fileOf } = fourLevels;

  /** Options of a single command: the word, and whether a value follows. */
  const OWN = { run: { "--show": true }, trace: { "--thread": true, "--in-block": true, "--lines": true }, profile: { "--executed": false }, check: {} };
  const CHECKS = ["--initcheck", "--racecheck", "--synccheck"];

  const words = (line) => line.trim().split(/\s+/).filter(Boolean);

  /** Converts a command line to the same launch with another command. */
  function withVerb(line, verb) {
    const kept = [verb];
    const [, ...rest] = words(line);
    for (let at = 0; at < rest.length; at++) {
      const name = rest[at].split("=")[0];
      const owner = Object.keys(OWN).find((other) => name in OWN[other]);
      if (owner === undefined || owner === verb) {
        kept.push(rest[at]);
      } else if (OWN[owner][name] && !rest[at].includes("=")) {
        at++;
      }
    }
    return kept.join(" ");
  }

  /** The limit of a warp's instructions for commands without `--limit`: about two seconds, after which an endless loop is named. */
  const LIMIT = 20_000_000;
  const limited = (line) => (/--limit\b/.test(line) || /^\s*check\b/.test(line) ? line : `${line} --limit ${LIMIT}`);

  fourLevels.panel = ({ file, lines, place }, choice) => {
    // Its own, so that it can be stopped without the others.
    const device = fourLevels.device();
    const kept = fourLevels.memory("four-levels-kernels");
    const original = fourLevels.kernels[file];
    const known = [...new Set([...lines, ...(fourLevels.commands[file] ?? [])])];
    const isCuda = file.endsWith(".cu");
    const line = choice?.line ?? known[0] ?? `check ${file}`;
    let running = false;

    const command = element("input", { class: "fl-command", value: line, "aria-label": "The command: how the kernel is launched, on which arguments", spellcheck: "false", autocomplete: "off", list: `fl-commands-${fourLevels.panels = (fourLevels.panels ?? 0) + 1}` });
    const offers = element("datalist", { id: command.getAttribute("list") }, ...known.map((line) => element("option", { value: line })));
    const status = element("span", { class: "fl-status", role: "status" });
    const outcome = element("div", { class: "fl-outcome" });
    const button = (text, onclick, title) => element("button", { type: "button", onclick, title }, text);
    const stop = button("■ stop", () => device.stop(), "Stop the running command");
    stop.disabled = true;

    // On at first, since they find what a result hides. Only the button that runs the kernel adds them to the command.
    const boxes = CHECKS.map((name) => element("input", { type: "checkbox", checked: true, value: name }));
    const checked = (line) => {
      const rest = words(line).filter((word) => !CHECKS.includes(word));
      return [...rest, ...boxes.filter((box) => box.checked).map((box) => box.value)].join(" ");
    };

    /** The file that the command names: this one, or another kernel of the book. */
    async function used() {
      const name = fileOf(command.value) ?? file;
      return { [name]: name === file ? editor.get() : await fourLevels.kernel(name) };
    }

    /** Sends a request with the used file, and shows meanwhile that it runs and can be stopped. */
    async function during(what, request, show) {
      if (running) return;
      running = true;
      stop.disabled = false;
      status.textContent = what;
      const begun = performance.now();
      try {
        const answer = await device.ask({ ...request, files: await used() });
        status.textContent = `${((performance.now() - begun) / 1000).toFixed(2)} s`;
        await show(answer);
      } catch (error) {
        status.textContent = error.message === "stopped" ? "stopped" : "";
        if (error.message !== "stopped") outcome.replaceChildren(element("div", { class: "fl-fault", role: "alert" }, error.message));
      }
      running = false;
      stop.disabled = true;
      outcome.dataset.done = String(Number(outcome.dataset.done ?? 0) + 1);
    }

    const execute = (verb) => {
      if (verb) command.value = withVerb(command.value, verb);
      if (verb === "run") command.value = checked(command.value);
      return during("running …", { do: "command", line: limited(command.value) }, async (answer) => {
        editor.costs(new Map());
        if (answer.diagnostics) editor.diagnose(answer.diagnostics);
        if (answer.counts?.length) editor.costs(fourLevels.costs(answer.counts, isCuda));
        // The result of the book's kernel with the same arguments, next to the result of the reader's.
        const compares = answer.buffers && !answer.fault && fileOf(command.value) === file && editor.get() !== original;
        const unedited = compares ? (await device.ask({ do: "command", line: limited(command.value), files: { [file]: original } })).buffers : null;
        fourLevels.showOutcome(outcome, answer, { isCuda, unedited, select: editor.select, look: answer.fault?.block && (() => look(answer.fault.block)) });
      });
    };

    const look = (at = [0, 0, 0]) => during("recording …",
      { do: "record", line: limited(withVerb(command.value.startsWith("check") ? `run ${file}` : command.value, "run")), block: at, most: 20000 },
      (record) => fourLevels.warpView(outcome, record, { again: look }));

    async function share() {
      await fourLevels.load("share.js");
      const text = editor.get() === original ? undefined : editor.get();
      const packed = await fourLevels.pack({ file, line: command.value, text }).catch((error) => { status.textContent = error.message; });
      if (!packed) return;
      history.replaceState(null, "", `#kernel=${packed}`);
      const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
      status.textContent = copied ? "the link is copied" : "the link is in the address bar";
    }

    const close = button("× close", () => { device.stop(); box.hidden = true; place.querySelector(".fl-open").focus(); }, "Close");
    const text = element("div", { class: "fl-editor" });
    const box = element("section", { class: "fl-panel", "aria-label": `${file}, to run and to edit` },
      element("div", { class: "fl-title" }, element("code", {}, file), close), text,
      element("div", { class: "fl-line" }, command, offers),
      element("div", { class: "fl-bar" },
        button("▶ run", () => execute("run"), "Run the kernel and show what it wrote"),
        button("trace", () => execute("trace"), "Show what one thread does (--thread, --in-block)"),
        button("profile", () => execute("profile"), "Show what each line costs"),
        button("look into a warp", () => look(), "Step through the lanes of a warp"),
        button("do as written", () => execute(null), "Run the command as it is written"),
        stop, ...boxes.map((box) => element("label", {}, box, ` ${box.value.slice(2)}`)),
        button("reset", () => { choose({ line }); kept.remove(file); isOwn = true; outcome.replaceChildren(); }, "Restore the book's text"),
        button("share", share, "Copy a link to this kernel"), status),
      outcome);
    // In the book, arrow keys turn pages.
    box.addEventListener("keydown", (event) => event.stopPropagation());
    fourLevels.runKey(text, () => execute(null));
    place.append(box);

    // The text is checked while the reader types, but not after each letter, and not while a kernel runs.
    let timer = 0;
    const check = async () => {
      if (running) return;
      try {
        const { diagnostics } = await device.ask({ do: "check", name: file, text: editor.get() });
        editor.diagnose(diagnostics);
      } catch {
        // Stopped: the next edit starts another check.
      }
    };
    const earlier = choice ? {} : kept.get(file);
    // The text of a link isn't kept: the reader's own is.
    let isOwn = !choice;
    const editor = fourLevels.editor(text, {
      text: choice?.text ?? earlier.text ?? original, label: `The text of ${file}`, isCuda,
      onchange(text) {
        clearTimeout(timer);
        timer = setTimeout(check, 250);
        editor.costs(new Map());
        if (isOwn && text === original) kept.remove(file);
        else if (isOwn) kept.set(file, { text });
      },
    });
    /** Shows the text and the command of a link. */
    function choose({ text, line }) {
      isOwn = false;
      editor.set(text ?? original);
      command.value = line;
      editor.costs(new Map());
    }
    if (earlier.text !== undefined) status.textContent = "your text from before; reset restores the book's";
    command.addEventListener("keydown", (event) => { if (event.key === "Enter") execute(null); });
    check();
    return { element: box, focus: () => box.querySelector(".fl-bar button").focus(), choose, execute, look };
  };
})();
