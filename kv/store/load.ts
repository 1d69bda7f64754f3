import { type Change, writesOf } from "./change.ts";
import {
  ATOMIC_BYTES_MAX,
  KEY_BYTES_MAX,
  LOG_VALUE_BYTES_MAX,
  MUTATIONS_MAX,
  TENANTS_MAX,
} from "../engine/engine_limits.ts";

/** Adds up the changes of one atomic and compares them with the engine's limits. */
export class Load {
  readonly #written = new Set<string>();
  readonly #tenants = new Set<string>();
  readonly #checked = new Map<string, string | null>();
  readonly #coalescedBytes = new Map<string, number>();
  #mutations = 0;
  #bytes = 0;
  #keyBytes = 0;
  #lineBytes = 0;
  #largestCoalesced = 0;

  constructor(private readonly checksMax: number) {}

  /** True when the change checks a key that is written here, or checked here with another versionstamp. */
  contradicts({ checks }: Change): boolean {
    return checks.some(({ keyText, versionstamp }) =>
      this.#written.has(keyText) ||
      this.#checked.has(keyText) && this.#checked.get(keyText) !== versionstamp
    );
  }

  /** Adds a change. Returns false when the atomic exceeds a limit with it. */
  add(change: Change, bytes: number, keyBytes: number): boolean {
    for (const { keyText, versionstamp } of change.checks) this.#checked.set(keyText, versionstamp);
    for (const tenant of change.tenants) this.#tenants.add(tenant);
    for (const { keyText } of change.mutations) this.#written.add(keyText);
    for (const line of change.coalesced) {
      const total = (this.#coalescedBytes.get(line.keyText) ?? 0) + line.bytes + 1;
      this.#coalescedBytes.set(line.keyText, total);
      this.#largestCoalesced = Math.max(this.#largestCoalesced, total);
    }
    this.#mutations += writesOf(change);
    this.#bytes += bytes;
    this.#keyBytes += keyBytes;
    this.#lineBytes += change.lineBytes;
    return this.#checked.size <= this.checksMax && this.#mutations <= MUTATIONS_MAX &&
      this.#bytes <= ATOMIC_BYTES_MAX * 0.8 && this.#keyBytes <= KEY_BYTES_MAX &&
      this.#lineBytes <= LOG_VALUE_BYTES_MAX && this.#largestCoalesced <= LOG_VALUE_BYTES_MAX &&
      this.#tenants.size <= TENANTS_MAX;
  }
}

/** A key's size beside its text: type bytes, and numbers, which take nine bytes. */
export const KEY_OVERHEAD_BYTES = 24;

/** The approximate size of a value in the engine, for the limit on an atomic. */
export function roughBytes(value: unknown): number {
  if (typeof value === "string") return 8 + value.length * 2;
  if (value instanceof Uint8Array) return 16 + value.length;
  if (typeof value !== "object" || value === null) return 9;
  let bytes = 16;
  for (const key in value) bytes += key.length + 8 + roughBytes((value as never)[key]);
  return bytes;
}
