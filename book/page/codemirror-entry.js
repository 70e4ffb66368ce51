// The editor, based on CodeMirror: the source of `codemirror.js`, which `scripts/book.sh` builds with esbuild.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { forceLinting, setDiagnostics } from "@codemirror/lint";
import { EditorState, RangeSet, StateEffect, StateField } from "@codemirror/state";
import { EditorView, GutterMarker, gutter, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { cudaC, ptx } from "./languages.js";

// The page's own colours, so that the editor follows its theme.
const style = HighlightStyle.define([
  { tag: tags.comment, class: "fl-c" },
  { tag: tags.keyword, class: "fl-k" },
  { tag: tags.typeName, class: "fl-t" },
  { tag: tags.number, class: "fl-n" },
  { tag: tags.string, class: "fl-s" },
  { tag: tags.labelName, class: "fl-l" },
  { tag: tags.variableName, class: "fl-v" },
  { tag: tags.meta, class: "fl-m" },
]);

class Cost extends GutterMarker {
  constructor(cost) { super(); this.cost = cost; }
  eq(other) { return other.cost.text === this.cost.text; }
  toDOM() {
    const made = document.createElement("span");
    made.textContent = this.cost.short;
    made.title = this.cost.text;
    return made;
  }
}
const setCosts = StateEffect.define();
const costs = StateField.define({
  create: () => RangeSet.empty,
  update(value, transaction) {
    for (const effect of transaction.effects) if (effect.is(setCosts)) return effect.value;
    return value.map(transaction.changes);
  },
});

globalThis.fourLevels.codemirror = (parent, { text, label, isCuda, onchange }) => {
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        gutter({ class: "fl-cost", markers: (view) => view.state.field(costs) }), costs,
        lineNumbers(), history(), keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
        StreamLanguage.define(isCuda ? cudaC : ptx), syntaxHighlighting(style),
        EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
        EditorView.updateListener.of((update) => { if (update.docChanged) onchange(update.state.doc.toString()); }),
      ],
    }),
  });
  const lineOf = (number) => view.state.doc.line(Math.min(Math.max(1, number), view.state.doc.lines));
  return {
    get: () => view.state.doc.toString(),
    set: (text) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
    focus: () => view.focus(),
    diagnose(found) {
      const diagnostics = found.map(({ severity, message, label, help, line, column, width }) => {
        const at = lineOf(line);
        // Columns count characters, positions UTF-16 units.
        const unit = (characters) => [...at.text].slice(0, characters).join("").length;
        const from = Math.min(at.to, at.from + unit(column - 1));
        return { severity, from, to: Math.min(at.to, Math.max(from, at.from + unit(column - 1 + width))), message: [message, label, help].filter(Boolean).join("\n") };
      });
      view.dispatch(setDiagnostics(view.state, diagnostics.sort((a, b) => a.from - b.from)));
      forceLinting(view);
    },
    costs(lines) {
      const markers = [...lines].filter(([line]) => line <= view.state.doc.lines).sort(([a], [b]) => a - b);
      view.dispatch({ effects: setCosts.of(RangeSet.of(markers.map(([line, cost]) => new Cost(cost).range(lineOf(line).from)))) });
    },
    select(line) {
      const { from, to } = lineOf(line);
      view.dispatch({ selection: { anchor: from, head: to }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
      view.focus();
    },
  };
};
