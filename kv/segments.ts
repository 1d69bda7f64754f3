import { slotOf, type Tenant } from "./collection.ts";
import type { Mutation } from "./commit.ts";
import { eventsOf, type Sequenced } from "./fold.ts";

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** Where the segments of a tenant's log lie. */
export const segmentsOf = (t: Tenant): Deno.KvKey => [t.org, t.space, "log"];

/** Where the segment lies that begins with number `first`. */
export const segmentKey = (t: Tenant, first: number): Deno.KvKey => [...segmentsOf(t), first];

/** A new segment: a line for each event, with a tab between type and row. */
export function setSegment(tenant: Tenant, first: number, text: string): Mutation {
  const key = segmentKey(tenant, first), value = encoder.encode(text);
  return { kind: "set", key, slot: slotOf(key), value, bytes: value.length, fresh: true };
}

/** The events of a segment. */
export const decodeSegment = ({ key, value }: Deno.KvEntry<Uint8Array>): Sequenced[] =>
  eventsOf(decoder.decode(value).split("\n"), key.at(-1) as number);
