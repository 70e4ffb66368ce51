// A kernel and its launch in an address: as JSON, deflated, in base64 for addresses.
"use strict";

(() => {
  /** Several times the longest kernel in the repository. Without a limit, a link of some kilobytes unpacks to gigabytes. */
  const MAX_BYTES = 1 << 20;
  /** Deflate packs 1032 bytes into one at best, and a browser unpacks a whole piece before anything of it can be read. */
  const PIECE = 1 << 10;

  /** What the stream makes of the bytes; more than MAX_BYTES of it is an error, found before the rest is made. */
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

  /** `{file, line, text}` as the part of an address behind `#kernel=`; `text` only where it was edited. */
  fourLevels.pack = async (shared) => {
    const text = new TextEncoder().encode(JSON.stringify(shared));
    if (text.length > MAX_BYTES) throw new Error(`the kernel is too long for a link: at most ${MAX_BYTES} bytes can be shared`);
    const bytes = await through(text, new CompressionStream("deflate-raw"));
    let binary = "";
    for (const byte of bytes) binary += String.fromCharCode(byte);
    return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  };

  /** And back; what is no such address is an error. */
  fourLevels.unpack = async (packed) => {
    const binary = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    const text = new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw")));
    const { file, line, text: edited } = JSON.parse(text);
    if (typeof file !== "string" || typeof line !== "string") throw new Error("it names no kernel");
    return { file, line, text: typeof edited === "string" ? edited : undefined };
  };
})();
