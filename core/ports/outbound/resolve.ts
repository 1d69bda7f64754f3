import { lookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";

import { RecentMap } from "../../../kv/store/recent.ts";
import { OutboundError } from "../interfaces.ts";
import { isPublicAddress } from "./address.ts";
import { refusedAddress } from "./target.ts";

/** Resolves a name to its addresses, in the order to try them. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/** A lookup of a dead name occupies a runtime thread until the system's resolver gives up. */
const MAX_LOOKUPS = 64; // of the 512 threads that the runtime shares with file reads

/** Slots reserved for names that resolved before, so that dead names cannot take all. */
const KEPT_LOOKUPS = 32;

/** Names remembered as resolving. */
const MAX_RESOLVED = 10_000;

/** Maximum number of addresses passed to the dialler. */
const MAX_ADDRESSES = 8;

/** The system's resolver, including its hosts file. */
export const resolveBySystem: Resolve = async (hostname) => {
  const found = await lookup(hostname, { all: true, order: "verbatim" });
  return found.map(({ address }) => address);
};

/** Resolves a name for an organization, unless the caller leaves before its turn. */
export type Lookup = (
  hostname: string,
  organization: string | null,
  left: AbortSignal,
) => Promise<readonly string[]>;

/**
 * Bounds concurrent lookups; callers with the same name share one. Others wait until they leave, so the queue is
 * bounded by the number of requests. No organization gets more than half of the slots, so its slow names do not
 * block the others.
 */
export function shareLookups(resolve: Resolve): Lookup {
  const underWay = new Map<string, Promise<readonly string[]>>();
  const resolved = new RecentMap<true>(MAX_RESOLVED);
  const begun = new Map<string | null, number>();
  const count = (organization: string | null, n: number) => {
    const sum = (begun.get(organization) ?? 0) + n;
    if (sum === 0) begun.delete(organization);
    else begun.set(organization, sum);
  };
  const line = new Set<() => void>();
  const begin = (hostname: string, organization: string | null) => {
    count(organization, 1);
    const fresh = resolve(hostname).finally(() => {
      underWay.delete(hostname);
      count(organization, -1);
      for (const takeTurn of line) takeTurn();
    });
    underWay.set(hostname, fresh);
    fresh.then(() => resolved.set(hostname, true), () => resolved.delete(hostname));
    return fresh;
  };
  const lookUp = (hostname: string, organization: string | null) => {
    const slots = resolved.get(hostname) ? MAX_LOOKUPS : MAX_LOOKUPS - KEPT_LOOKUPS;
    const hasSlot = underWay.size < slots && (begun.get(organization) ?? 0) < slots / 2;
    return underWay.get(hostname) ?? (hasSlot ? begin(hostname, organization) : null);
  };
  return (hostname, organization, left) =>
    lookUp(hostname, organization) ?? new Promise((answer) => {
      const takeTurn = () => {
        const found = lookUp(hostname, organization);
        if (found === null) return;
        line.delete(takeTurn);
        answer(found);
      };
      line.add(takeTurn);
      left.addEventListener("abort", () => line.delete(takeTurn));
    });
}

/**
 * A socket's lookup function that refuses a name when any of its addresses is forbidden. Otherwise it passes on
 * exactly the checked addresses, so a second DNS answer cannot be dialled.
 */
export function guardLookup(lookUp: Resolve, allowPrivate: boolean): LookupFunction {
  return (hostname, options, done) => {
    checkedAddresses(lookUp(hostname), hostname, allowPrivate).then(
      (all) => {
        const [first] = all;
        if (options.all) done(null, all);
        else if (first !== undefined) done(null, first.address, first.family);
      },
      (error) => done(error, "", 0),
    );
  };
}

/** @throws {OutboundError} `dns`, or `refused_address` when one address is forbidden */
export async function checkedAddresses(
  lookup: Promise<readonly string[]>,
  hostname: string,
  allowPrivate: boolean,
) {
  const found = await lookup.catch((cause) => {
    throw new OutboundError("dns", `${hostname} cannot be resolved.`, { cause });
  });
  if (found.length === 0) throw new OutboundError("dns", `${hostname} has no address.`);
  const forbidden = found.find((ip) => isIP(ip) === 0 || (!allowPrivate && !isPublicAddress(ip)));
  if (forbidden !== undefined) throw refusedAddress(hostname, forbidden);
  return found.slice(0, MAX_ADDRESSES).map((address) => ({ address, family: isIP(address) }));
}
