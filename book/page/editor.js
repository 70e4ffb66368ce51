// The editor for a text: CodeMirror if the book was built with Node, otherwise a plain field. Both show the same diagnostics,
// and the cost of each line.
"use strict";

(() => {
  const { element } = fourLevels;

  /** The plain field, with diagnostics and costs in lists below it. */
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

  /** Makes an editor in `parent`, which calls `onchange` after each edit. */
  fourLevels.editor = (parent, options) => {
    const list = element("ul", { class: "fl-diagnostics", "aria-live": "polite", "aria-label": "Diagnostics" });
    const inner = (fourLevels.codemirror ?? plain)(parent, options);
    parent.append(list);
    return {
      ...inner,
      /** Shows diagnostics as a list, and underlined if the editor supports that. */
      diagnose(found) {
        inner.diagnose(found);
        list.replaceChildren(...found.map((one) => element("li", { class: `fl-${one.severity}` },
          element("button", { type: "button", onclick: () => inner.select(one.line) }, `line ${one.line}`),
          ` ${one.message}`, one.label ? ` (${one.label})` : "", one.help ? element("div", {}, one.help) : null)));
      },
    };
  };
})();
