// A text that a reader edits: CodeMirror where the book was built with Node, a plain field where it was
// not. Both show the same diagnostics, and what each line cost.
"use strict";

(() => {
  const { element } = fourLevels;

  /** The plain field. Diagnostics and costs stand in lists below it. */
  function plain(parent, { text, label, onchange }) {
    const field = element("textarea", { class: "fl-field", "aria-label": label, spellcheck: "false", wrap: "off", rows: Math.min(30, text.split("\n").length + 1) });
    field.value = text;
    field.addEventListener("input", () => onchange(field.value));
    const costs = element("pre", { class: "fl-costs", hidden: true });
    parent.append(field, costs);
    return {
      get: () => field.value,
      set(text) { field.value = text; onchange(text); },
      focus: () => field.focus(),
      diagnose() {},
      costs(lines) {
        costs.hidden = lines.size === 0;
        costs.textContent = [...lines].map(([line, { text }]) => `line ${line}: ${text}`).join("\n");
      },
      select(line) {
        const lines = field.value.split("\n");
        const from = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
        field.focus();
        field.setSelectionRange(from, from + (lines[line - 1] ?? "").length);
        field.scrollTop = ((line - 5) / lines.length) * field.scrollHeight;
      },
    };
  }

  /** An editor in `parent`; `onchange` hears each edit. */
  fourLevels.editor = (parent, options) => {
    const list = element("ul", { class: "fl-diagnostics", "aria-live": "polite", "aria-label": "What is wrong" });
    const inner = (fourLevels.codemirror ?? plain)(parent, options);
    parent.append(list);
    return {
      ...inner,
      /** Shows what is wrong: underlined where the editor can, and as a list. */
      diagnose(found) {
        inner.diagnose(found);
        list.replaceChildren(...found.map((one) => element("li", { class: `fl-${one.severity}` },
          element("button", { type: "button", onclick: () => inner.select(one.line) }, `line ${one.line}`),
          ` ${one.message}`, one.label ? ` (${one.label})` : "", one.help ? element("div", {}, one.help) : null)));
      },
    };
  };
})();
