import type { ProgramForm } from "../protocol/protocol.ts";

/** The main module of a program in parts. */
const PARTS_MAIN = "/chunks/main.js";

/** How this program is installed. A bundle is one module, or the parts beside it. */
export function ownForm(): ProgramForm {
  if (Deno.build.standalone) return "executable";
  return ownBundle() === null ? "source" : "bundle";
}

/** The address of the bundle that a program is, or whose parts it consists of; null for any other program. */
export function ownBundle(main: string = Deno.mainModule): string | null {
  if (main.endsWith(PARTS_MAIN)) return new URL("../relay.js", main).href;
  return import.meta.url === main ? main : null;
}

/** Calls back at SIGTERM and SIGINT (Ctrl-C and Ctrl-Break on Windows). Returns a function that stops this. */
export function onStopSignal(stop: () => void): () => void {
  const signals: Deno.Signal[] = Deno.build.os === "windows"
    ? ["SIGINT", "SIGBREAK"]
    : ["SIGINT", "SIGTERM"];
  for (const signal of signals) Deno.addSignalListener(signal, stop);
  return () => {
    for (const signal of signals) Deno.removeSignalListener(signal, stop);
  };
}

/** Longer than any credential. */
const LINE_BYTES_MAX = 4_096;

/** The first line of standard input, up to the longest credential. */
export function readInputLine(): string {
  const buffer = new Uint8Array(LINE_BYTES_MAX);
  let length = 0;
  while (length < buffer.length && !buffer.subarray(0, length).includes(LINE_FEED)) {
    const read = Deno.stdin.readSync(buffer.subarray(length));
    if (read === null) break;
    length += read;
  }
  return new TextDecoder().decode(buffer.subarray(0, length)).split("\n")[0]!;
}

const LINE_FEED = 0x0a;
