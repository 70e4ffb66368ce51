// The editor for a text: CodeMirror if the book was built with Node, otherwise a plain field. Both show the same diagnostics,
// and the cost of each line.
"use strict";

(() => {
  const { element } = fourLevels;

  /**
   * A store of the browser, by name: an object of objects, by key. It is read each time, because another tab may have
   * changed it. Without storage, it lasts until the page is left.
   */
  fourLevels.memory = (name) => {
    let known = {};
    function read() {
      try {
        known = JSON.parse(localStorage.getItem(name)) ?? {};
      } catch {
        // No storage, or something else in it.
      }
      return known;
    }
    function write() {
      try {
        localStorage.setItem(name, JSON.stringify(known));
      } catch {
        // No storage, or it is full.
      }
    }
    return {
      get: (key) => read()[key] ?? {},
      set(key, change) { read()[key] = { ...known[key], ...change }; write(); },
      remove(key) { delete read()[key]; write(); },
      /** Calls `changed` when another tab has changed it. */
      watch: (changed) => addEventListener("storage", (event) => { if (event.key === name) changed(); }),
    };
  };

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

  /** Has Ctrl+Enter (⌘+Enter) in an editor's place call `run`. */
  fourLevels.runKey = (place, run) => place.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    event.stopPropagation();
    run();
  }, true);

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
