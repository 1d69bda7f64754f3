import { NOTHING } from "../../kv/appends.ts";
import { slotOf } from "../../kv/collection.ts";
import type { Change, Check, Mutation } from "../../kv/commit.ts";
import { makeLine } from "../../kv/line.ts";

export const set = (key: Deno.KvKey, value: unknown, bytes = 16): Mutation => ({
  kind: "set",
  key,
  slot: slotOf(key),
  value,
  bytes,
});

export const check = (key: Deno.KvKey, versionstamp: string | null): Check => ({
  key,
  slot: slotOf(key),
  versionstamp,
});

/** A change of these parts and no others. */
export const change = (over: Partial<Change>): Change => ({ ...NOTHING, ...over });

export const TENANT = { org: "o", space: "live" } as const;

/** One event of one tenant. */
export const event = (json: string, line = makeLine(TENANT, "t", json)): Change =>
  change({ lines: [line], lineBytes: line.bytes, tenants: [line.owner] });
