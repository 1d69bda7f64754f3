import type { Entropy } from "../../core/ports/ports.ts";
import { mulberry32 } from "./random.ts";

/** Bytes that are the same in every run with the same seed. */
export function seededBytes(seed: number): Pick<Entropy, "bytes"> {
  const unit = mulberry32(seed);
  return { bytes: (n) => Uint8Array.from({ length: n }, () => Math.floor(unit() * 256)) };
}
