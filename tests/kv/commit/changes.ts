import { type Change, checkOf, type Mutation, NOTHING, setKey } from "../../../kv/store/change.ts";
import { makeLine } from "../../../kv/log/line.ts";

export const set = (key: Deno.KvKey, value: unknown, bytes = 16): Mutation =>
  setKey(key, value, bytes);

export const check = checkOf;

/** A change with only these parts. */
export const change = (over: Partial<Change>): Change => ({ ...NOTHING, ...over });

export const TENANT = { org: "o", space: "live" } as const;

/** One event of one tenant. */
export const event = (json: string, line = makeLine(TENANT, "t", json)): Change =>
  change({ lines: [line], lineBytes: line.bytes, tenants: [line.owner] });
