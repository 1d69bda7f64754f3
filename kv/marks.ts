import { slotOf, type Tenant, tenantKey, tenantOf } from "./collection.ts";
import type { Mutation } from "./commit.ts";

/** A tenant whose log holds something for a follower, up to an event. */
export interface Marked {
  readonly tenant: Tenant;
  readonly seq: number;
}

const decoder = new TextDecoder();

/** Where the fold marks tenants for a follower. */
export const markPrefix = (name: string) => ["~", "mark", name];

/** The mark of one tenant, whose log is read to its end. */
export const markKey = (name: string, { org, space }: Tenant) => [...markPrefix(name), org, space];

/** Marks one tenant. */
export function setMark(name: string, tenant: Tenant): Mutation {
  const key = markKey(name, tenant);
  return { kind: "set", key, slot: slotOf(key), value: true, bytes: 16 };
}

/** Whom the mark of one tenant is for. */
export const tenantOfMark = ({ key }: Deno.KvEntry<unknown>): Tenant => ({
  org: key[3] as string,
  space: key[4] as Tenant["space"],
});

/** Marks of many tenants, a value for each atomic of a fold; no organization has this name. */
export const groupPrefix = (name: string) => [...markPrefix(name), ""];

/** The text of a group. */
export const encodeGroup = (marked: readonly Marked[]): string =>
  marked.map(({ tenant, seq }) => `${tenantKey(tenant)}\t${seq}`).join("\n");

/** The tenants of a group, or null when the entry marks one tenant. */
export function groupOf({ key, value }: Deno.KvEntry<unknown>): Marked[] | null {
  if (key[3] !== "") return null;
  return decoder.decode(value as Uint8Array).split("\n").map((line) => {
    const tab = line.indexOf("\t");
    return { tenant: tenantOf(line.slice(0, tab)), seq: Number(line.slice(tab + 1)) };
  });
}
