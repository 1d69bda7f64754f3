import type { ProgramForm } from "../protocol/protocol.ts";

/** How this program is installed. A bundle is one module, or the same in parts. */
export function ownForm(): ProgramForm {
  if (Deno.build.standalone) return "executable";
  return import.meta.url.endsWith(".ts") ? "source" : "bundle";
}

/** The address of the bundle that this program is, or that lies among its parts; null for any other program. */
export function ownBundle(): string | null {
  if (ownForm() !== "bundle") return null;
  return import.meta.url === Deno.mainModule
    ? Deno.mainModule
    : new URL("relay.js", Deno.mainModule).href;
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
