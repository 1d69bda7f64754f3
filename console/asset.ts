import { createHash } from "node:crypto";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import type { Asset } from "./sent.ts";

/** A text in each form in which it is sent. */
export function packed(source: string, type: string): Asset {
  const asset = unpacked(new TextEncoder().encode(source), type);
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9 };
  return {
    ...asset,
    gzip: new Uint8Array(gzipSync(asset.plain, { level: 9 })),
    brotli: new Uint8Array(brotliCompressSync(asset.plain, { params })),
  };
}

/** Bytes that compression does not pay for, such as a picture. */
export const unpacked = (plain: Uint8Array<ArrayBuffer>, type: string): Asset => ({
  type,
  plain,
  gzip: null,
  brotli: null,
  etag: `"${createHash("sha256").update(plain).digest("hex").slice(0, 16)}"`,
});
