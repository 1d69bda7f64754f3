import { brotliCompressSync, constants, gzipSync } from "node:zlib";

/** A way to send a text, by its name in `Content-Encoding`. */
export type Coding = "br" | "gzip" | "identity";

const CODINGS = ["br", "gzip"] as const; // the best first

/** The best coding that an `Accept-Encoding` header names without `q=0`. */
export function codingFor(accepted: string | null): Coding {
  const named = (accepted ?? "").toLowerCase().split(",")
    .map((part) => part.split(";").map((piece) => piece.trim()))
    .filter(([, weight]) => !/^q=0(\.0*)?$/.test(weight ?? ""))
    .map(([name]) => name);
  return CODINGS.find((coding) => named.includes(coding)) ?? "identity";
}

/** The bytes of a text in a coding. */
export function encode(text: string, coding: Coding): Uint8Array<ArrayBuffer> {
  const plain = new TextEncoder().encode(text);
  if (coding === "identity") return plain;
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9 };
  return new Uint8Array(
    coding === "br" ? brotliCompressSync(plain, { params }) : gzipSync(plain, { level: 9 }),
  );
}
