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

  fourLevels.panel = async ({ file, lines, place }, choice) => {
    const device = fourLevels.common();
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

    const boxes = CHECKS.map((name) => {
      const box = element("input", { type: "checkbox", onchange: () => {
        const rest = words(command.value).filter((word) => word !== name);
        command.value = [...rest, ...(box.checked ? [name] : [])].join(" ");
      } });
      return element("label", {}, box, ` ${name.slice(2)}`);
    });
    const readBoxes = () => boxes.forEach((label, at) => { label.firstChild.checked = words(command.value).includes(CHECKS[at]); });
    command.addEventListener("input", readBoxes);

    const files = () => ({ ...fourLevels.kernels, [file]: editor.get() });
    const used = () => { const name = fileOf(command.value) ?? file; return { [name]: files()[name] }; };

    /** Sends a request, and shows meanwhile that it runs and can be stopped. */
    async function during(what, request, show) {
      if (running) return;
      running = true;
      stop.disabled = false;
      status.textContent = what;
      const begun = performance.now();
      try {
        const answer = await device.ask(request);
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
      readBoxes();
      return during("running …", { do: "command", line: command.value, files: used() }, (answer) => {
        editor.costs(new Map());
        if (answer.diagnostics) editor.diagnose(answer.diagnostics);
        if (answer.counts?.length && !isCuda) editor.costs(fourLevels.costs(answer.counts));
        fourLevels.showOutcome(outcome, answer, { isCuda, select: editor.select });
      });
    };

    const look = (at = [0, 0, 0], first) => during("recording …",
      { do: "record", line: withVerb(command.value.startsWith("check") ? `run ${file}` : command.value, "run"), files: used(), block: at, most: 20000 },
      (record) => fourLevels.warpView(outcome, record, { again: look, first }));

    async function share() {
      await fourLevels.load("share.js");
      const text = editor.get() === original ? undefined : editor.get();
      const packed = await fourLevels.pack({ file, line: command.value, text }).catch((error) => { status.textContent = error.message; });
      if (!packed) return;
      history.replaceState(null, "", `#kernel=${packed}`);
      const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
      status.textContent = copied ? "the link is copied" : "the link is in the address bar";
    }

    const close = button("× close", () => { box.hidden = true; place.querySelector(".fl-open").focus(); }, "Close");
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
        stop, ...boxes,
        button("reset", () => { editor.set(original); command.value = line; readBoxes(); outcome.replaceChildren(); editor.costs(new Map()); }, "Restore the book's text"),
        button("share", share, "Copy a link to this kernel"), status),
      outcome);
    // In the book, arrow keys turn pages.
    box.addEventListener("keydown", (event) => event.stopPropagation());
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
    const editor = fourLevels.editor(text, {
      text: choice?.text ?? original, label: `The text of ${file}`, isCuda,
      onchange() { clearTimeout(timer); timer = setTimeout(check, 250); editor.costs(new Map()); },
    });
    command.addEventListener("keydown", (event) => { if (event.key === "Enter") execute(null); });
    readBoxes();
    check();
    return { element: box, focus: () => box.querySelector(".fl-bar button").focus(), editor, execute, look };
  };
})();
