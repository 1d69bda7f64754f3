import { call } from "../api.ts";
import { space } from "../space.ts";
import type { Kept, Sources } from "./steps.ts";
import { me } from "../session.ts";

const keyOf = (origin: string) => `relay checkpoint of ${origin}`;

/** The name of the log that is shown. */
export const originNow = (): string => `relay/${me.value!.organization.id}/${space.value}`;

/** The checkpoint that this browser kept at an earlier visit. */
function keptCheckpoint(origin: string): Kept | null {
  const text = localStorage.getItem(keyOf(origin));
  try {
    return text === null ? null : JSON.parse(text) as Kept;
  } catch {
    return null;
  }
}

/** Keeps a proven checkpoint for the next visit. */
export function keepCheckpoint(origin: string, { note, public_key }: Kept): void {
  localStorage.setItem(keyOf(origin), JSON.stringify({ note, public_key }));
}

/** Forgets it, so that the next visit begins anew: after a relay was restored from an older backup, for example. */
export function forgetCheckpoint(origin: string): void {
  localStorage.removeItem(keyOf(origin));
}

/** What the proofs need of this browser and of the relay. */
export function sourcesNow(signal: AbortSignal): Sources {
  const origin = originNow();
  return {
    origin,
    kept: keptCheckpoint(origin),
    consistency: async (from, to) =>
      (await call("audit.consistency", { query: { from, to }, signal })).path,
  };
}
