// A kernel and its launch in an address: as JSON, deflated, in base64 for addresses.
"use strict";

(() => {
  async function through(bytes, stream) {
    const piped = new Blob([bytes]).stream().pipeThrough(stream);
    return new Uint8Array(await new Response(piped).arrayBuffer());
  }

  /** `{file, line, text}` as the part of an address behind `#kernel=`; `text` only where it was edited. */
  fourLevels.pack = async (shared) => {
    const bytes = await through(new TextEncoder().encode(JSON.stringify(shared)), new CompressionStream("deflate-raw"));
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
