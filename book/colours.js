// Syntax colours for PTX, which mdBook's highlight.js doesn't know. This script runs after mdBook's highlighting, so it
// colours the blocks of PTX itself.
"use strict";

if (globalThis.hljs) {
  const type = /\.(?:[busf](?:8|16|32|64)|b128|pred|f16x2|bf16(?:x2)?|tf32|e4m3|e5m2)(?![\w$])/;
  // An opcode with its modifiers, up to its type; without a dot only a few occur.
  const modifier = `(?:(?!${type.source})\\.[\\w:]+)`;
  const opcode = new RegExp(`\\b[a-z][a-z0-9_]*(?:${modifier}+|(?=${type.source}))|\\b(?:ret|exit|bra|trap|brkpt|call)(?![\\w$])`);
  hljs.registerLanguage("ptx", (hljs) => ({
    name: "PTX",
    contains: [
      hljs.C_LINE_COMMENT_MODE,
      hljs.C_BLOCK_COMMENT_MODE,
      hljs.QUOTE_STRING_MODE,
      // Who a thread is: registers that are there without a declaration.
      { className: "literal", begin: /%(?:n?(?:tid|ctaid|warpid|smid)|laneid|warpsize|gridid|lanemask_\w+|clock(?:64|_hi)?|globaltimer(?:_\w+)?|envreg\d+|pm\d+|(?:dynamic|total|aggr)_smem_size)(?:\.[xyz])?(?![\w$])/ },
      // All other registers stay in the colour of the text, and so does what looks like an opcode in their names.
      { begin: /%[\w$]+/ },
      { className: "meta", begin: /@!?%?[\w$]+/ },
      { className: "symbol", begin: /^[ \t]*[\w$]+:(?!:)/ },
      { className: "number", begin: /\b0[fdFD][0-9a-fA-F]+|\b0[xX][0-9a-fA-F]+U?\b|\b\d+\.\d*(?:[eE][-+]?\d+)?|\b\d+U?\b/ },
      { className: "built_in", begin: type },
      { className: "title", begin: /\.(?:version|target|address_size|visible|extern|weak|common|entry|func|reg|param|shared|local|const|global|align|file|loc|section|pragma|ptr|maxntid|minnctapersm|maxnreg|reqntid|noreturn|branchtargets|calltargets|callprototype)(?![\w$])/ },
      { className: "keyword", begin: opcode },
    ],
  }));
  for (const block of document.querySelectorAll("code.language-ptx")) hljs.highlightBlock(block);
}
