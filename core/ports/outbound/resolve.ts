import { lookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";

import { RecentMap } from "../../../kv/store/recent.ts";
import { OutboundError } from "../interfaces.ts";
import { isPublicAddress } from "./address.ts";
import { refusedAddress } from "./target.ts";

/** Every address of a name, in the order in which they are to be tried. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/** A look-up holds a thread of the runtime until the system's resolver gives up on a dead name. */
const MAX_LOOKUPS = 64; // of the 512 threads that the runtime shares with file reads

/** Places for names that resolved when they were looked up last: no dead name of a stranger's takes one. */
const KEPT_LOOKUPS = 32;

/** Names that are remembered to resolve. */
const MAX_RESOLVED = 10_000;

/** More addresses than a client would ever try are not handed to the dialler. */
const MAX_ADDRESSES = 8;

/** Asks the system's resolver, hosts file included. */
export const resolveBySystem: Resolve = async (hostname) => {
  const found = await lookup(hostname, { all: true, order: "verbatim" });
  return found.map(({ address }) => address);
};

/** Every address of a name, for an organization, unless whoever asks has left before its turn came. */
export type Lookup = (
  hostname: string,
  organization: string | null,
  left: AbortSignal,
) => Promise<readonly string[]>;

/**
 * Bounds the look-ups under way; callers who ask for the same name share one. Others wait for a place until
 * they leave, so the line is as long as there are requests under way, and no longer. No organization has more
 * than half of the places, so its slow names do not hold up everybody's.
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
    const places = resolved.get(hostname) ? MAX_LOOKUPS : MAX_LOOKUPS - KEPT_LOOKUPS;
    const hasPlace = underWay.size < places && (begun.get(organization) ?? 0) < places / 2;
    return underWay.get(hostname) ?? (hasPlace ? begin(hostname, organization) : null);
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
 * The look-up of a socket that refuses a name when any of its addresses is forbidden, and else
 * hands over exactly the addresses that were checked, so a second answer cannot be dialled.
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

async function checkedAddresses(
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
