// Links to a kernel and its launch: JSON, deflated, in URL-safe base64.
"use strict";

(() => {
  /** Limit of a kernel's length, several times the longest one in the repository. Without it, a link of some kilobytes could unpack to gigabytes. */
  const MAX_BYTES = 1 << 20;
  /** Size of the pieces that are unpacked. A byte of deflate can unpack to 1032, and a browser unpacks a whole piece at once. */
  const PIECE = 1 << 10;

  /** Passes bytes through a stream. More than MAX_BYTES of output are an error, before the rest is unpacked. */
  async function through(bytes, { writable, readable }) {
    const writer = writable.getWriter();
    const feed = async () => {
      for (let at = 0; at < bytes.length; at += PIECE) await writer.write(bytes.subarray(at, at + PIECE));
      await writer.close();
    };
    // The reader reports the same error.
    feed().catch(() => {});
    const [reader, parts] = [readable.getReader(), []];
    let length = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return new Uint8Array(await new Blob(parts).arrayBuffer());
      length += value.length;
      if (length > MAX_BYTES) {
        await reader.cancel();
        throw new Error(`its kernel has more than ${MAX_BYTES} bytes`);
      }
      parts.push(value);
    }
  }

  /** Encodes `{file, line, text}` for a link, after `#kernel=`; `text` is only set if it was edited. */
  fourLevels.pack = async (shared) => {
    const text = new TextEncoder().encode(JSON.stringify(shared));
    if (text.length > MAX_BYTES) throw new Error(`the kernel is too long for a link: the limit is ${MAX_BYTES} bytes`);
    const bytes = await through(text, new CompressionStream("deflate-raw"));
    let binary = "";
    for (const byte of bytes) binary += String.fromCharCode(byte);
    return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  };

  /** Decodes a link. An invalid one is an error. */
  fourLevels.unpack = async (packed) => {
    const binary = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    const text = new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw")));
    const { file, line, text: edited } = JSON.parse(text);
    if (typeof file !== "string" || typeof line !== "string") throw new Error("it names no kernel");
    return { file, line, text: typeof edited === "string" ? edited : undefined };
  };
})();
