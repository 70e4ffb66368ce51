// Side notes: on a wide screen, the meaning of a term appears next to its first use on the page. If the
// screen is narrow, or a block of code takes up the margin, the link's tooltip has it.
"use strict";

(() => {
  /** The narrowest window with notes. */
  const WIDE = 1280;
  /** Distance between two notes, and from wide blocks, in pixels. */
  const GAP = 12;
  /** How far a note may be from its term, up and down. */
  const FAR = 160;
  const main = document.querySelector("main");
  const terms = [...(main?.querySelectorAll("a.term[title]") ?? [])];

  /** The stretches of height that blocks wider than the text take up, from the top of `main`. */
  function taken(origin, left) {
    return [...main.children]
      .filter((block) => block.className !== "fl-note")
      .map((block) => block.getBoundingClientRect())
      .filter((box) => box.height > 0 && box.right > left - GAP)
      .map((box) => [box.top - origin - GAP, box.bottom - origin + GAP]);
  }

  function place() {
    main.querySelectorAll(".fl-note").forEach((note) => note.remove());
    if (innerWidth < WIDE) return;
    const origin = main.getBoundingClientRect().top;
    let last = 0;
    let blocks = null;
    for (const term of terms) {
      const box = term.getBoundingClientRect();
      if (box.height === 0) continue;
      const note = document.createElement("aside");
      note.className = "fl-note";
      // The link itself has the same text as its tooltip.
      note.setAttribute("aria-hidden", "true");
      const word = document.createElement("strong");
      word.textContent = term.textContent;
      note.append(word, `: ${term.title}`);
      main.append(note);
      const { left, height } = note.getBoundingClientRect();
      blocks ??= taken(origin, left);
      const wanted = box.top - origin;
      const clash = (top) => blocks.find(([from, to]) => from < top + height && top < to);
      let top = Math.max(wanted, last + GAP);
      // Above the block that is in the way, or below it.
      const block = clash(top);
      if (block) top = [block[0] - height, block[1]].find((top) => top > last + GAP && !clash(top)) ?? Infinity;
      if (top - wanted > FAR || wanted - top > FAR) {
        note.remove();
      } else {
        note.style.top = `${top}px`;
        last = top + height;
      }
    }
  }

  if (terms.length) {
    let asked = 0;
    const later = () => {
      cancelAnimationFrame(asked);
      asked = requestAnimationFrame(place);
    };
    // Also when a reader opens a panel or a solution, and when the fonts arrive.
    new ResizeObserver(later).observe(main);
    addEventListener("resize", later);
  }
})();
