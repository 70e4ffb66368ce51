// PTX and CUDA C for the editor: words and their colours, line by line.

const ptxToken = (stream, state) => {
  if (state.comment) {
    if (stream.match(/.*?\*\//)) state.comment = false; else stream.skipToEnd();
    return "comment";
  }
  if (stream.eatSpace()) return null;
  if (stream.match("//")) { stream.skipToEnd(); return "comment"; }
  if (stream.match("/*")) { state.comment = true; return "comment"; }
  if (stream.match(/"(?:[^"\\]|\\.)*"?/)) return "string";
  if (stream.match(/@!?%?[\w$]+/)) return "meta";
  if (stream.match(/[\w$]+:(?!:)/)) return "labelName";
  if (stream.match(/%[\w$.]+/)) return "variableName";
  if (stream.match(/0[fdFD][0-9a-fA-F]+|0[xX][0-9a-fA-F]+U?|\d+\.\d*(?:[eE][-+]?\d+)?|\d+U?/)) return "number";
  if (stream.match(/\.(?:[busf](?:8|16|32|64|128)|pred|f16x2|bf16x2?|tf32|b128)\b/)) return "typeName";
  if (stream.match(/\.[\w:]+/)) return state.begun ? "typeName" : "keyword";
  if (stream.match(/[A-Za-z_$][\w$]*/)) { const first = !state.begun; state.begun = true; return first ? "keyword" : null; }
  if (stream.match(/[;{}]/)) { state.begun = false; return null; }
  stream.next();
  return null;
};

export const ptx = {
  name: "ptx",
  startState: () => ({ comment: false, begun: false }),
  copyState: (state) => ({ ...state }),
  token: ptxToken,
  languageData: { commentTokens: { line: "//" } },
};

const KEYWORDS = /^(?:__\w+__|if|else|for|while|do|switch|case|default|break|continue|return|goto|const|constexpr|static|extern|volatile|inline|template|typename|struct|union|enum|using|typedef|sizeof|static_assert|decltype|operator|true|false|nullptr)$/;
const TYPES = /^(?:void|bool|char|short|int|long|unsigned|signed|float|double|auto|size_t|u?int(?:8|16|32|64)_t|(?:char|uchar|short|ushort|int|uint|long|ulong|float|double)[1-4]|__half2?|__nv_bfloat16)$/;

export const cudaC = {
  name: "cuda-c",
  startState: () => ({ comment: false }),
  copyState: (state) => ({ ...state }),
  token(stream, state) {
    if (state.comment) {
      if (stream.match(/.*?\*\//)) state.comment = false; else stream.skipToEnd();
      return "comment";
    }
    if (stream.eatSpace()) return null;
    if (stream.match("//")) { stream.skipToEnd(); return "comment"; }
    if (stream.match("/*")) { state.comment = true; return "comment"; }
    if (stream.sol() && stream.match(/#\s*\w+/)) return "meta";
    if (stream.match(/"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?/)) return "string";
    if (stream.match(/0[xX][0-9a-fA-F]+[uUlL]*|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[fFuUlL]*/)) return "number";
    if (stream.match(/[A-Za-z_]\w*/)) {
      const word = stream.current();
      if (KEYWORDS.test(word)) return "keyword";
      if (TYPES.test(word)) return "typeName";
      return /^(?:threadIdx|blockIdx|blockDim|gridDim|warpSize)$/.test(word) ? "variableName" : null;
    }
    stream.next();
    return null;
  },
  languageData: { commentTokens: { line: "//" } },
};
