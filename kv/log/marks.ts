import { type Mutation, setKey } from "../store/change.ts";
import { type Tenant, tenantKey, tenantOf } from "../store/collection.ts";
import type { TenantEvents } from "./fold.ts";
import { coalescedLine } from "../store/coalesced.ts";
import type { Tx } from "../store/tx.ts";

/** A tenant whose log holds something for a follower, up to an event. */
export interface Marked {
  readonly tenant: Tenant;
  readonly seq: number;
}

const decoder = new TextDecoder();
/** Tenants of one group of marks, so that it fits into one value whatever they are called. */
const GROUP_TENANTS_MAX = 100;

/** Where the fold marks tenants for a follower. */
export const markPrefix = (name: string) => ["~", "mark", name];

/** The mark of one tenant, whose log is read to its end. */
export const markKey = (name: string, { org, space }: Tenant) => [...markPrefix(name), org, space];

/** Marks one tenant. */
export const setMark = (name: string, tenant: Tenant): Mutation =>
  setKey(markKey(name, tenant), true, 16);

/** Whom the mark of one tenant is for. */
export const tenantOfMark = ({ key }: Deno.KvEntry<unknown>): Tenant => ({
  org: key[3] as string,
  space: key[4] as Tenant["space"],
});

/** Marks of many tenants, a value for each atomic of a fold; no organization has this name. */
export const groupPrefix = (name: string) => [...markPrefix(name), ""];

/** The text of a group. */
const encodeGroup = (marked: readonly Marked[]): string =>
  marked.map(({ tenant, seq }) => `${tenantKey(tenant)}\t${seq}`).join("\n");

/** Marks tenants for a follower: one by its own key, several by one value. */
export function markAll(tx: Tx, name: string, marked: readonly TenantEvents[]): void {
  if (marked.length === 1) {
    tx.stage(setMark(name, marked[0]!.tenant));
    return;
  }
  for (let at = 0; at < marked.length; at += GROUP_TENANTS_MAX) {
    const some = marked.slice(at, at + GROUP_TENANTS_MAX).map(({ tenant, events }) => ({
      tenant,
      seq: events.at(-1)!.seq,
    }));
    tx.coalesce(coalescedLine([...groupPrefix(name), at], encodeGroup(some)));
  }
}

/** The tenants of a group, or null when the entry marks one tenant. */
export function groupOf({ key, value }: Deno.KvEntry<unknown>): Marked[] | null {
  if (key[3] !== "") return null;
  return decoder.decode(value as Uint8Array).split("\n").map((line) => {
    const tab = line.indexOf("\t");
    return { tenant: tenantOf(line.slice(0, tab)), seq: Number(line.slice(tab + 1)) };
  });
}
