import { lookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";

import { OutboundError } from "../ports.ts";
import { isPublicAddress } from "./address.ts";
import { refusedAddress } from "./target.ts";

/** Every address of a name, in the order in which they are to be tried. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/** A look-up holds a thread of the runtime until the system's resolver gives up on a dead name. */
const MAX_LOOKUPS = 64; // of the 512 threads that the runtime shares with file reads

/** More addresses than a client would ever try are not handed to the dialler. */
const MAX_ADDRESSES = 8;

/** Asks the system's resolver, hosts file included. */
export const resolveBySystem: Resolve = async (hostname) => {
  const found = await lookup(hostname, { all: true, order: "verbatim" });
  return found.map(({ address }) => address);
};

/** Bounds the look-ups under way; callers who ask for the same name share one. */
export function shareLookups(resolve: Resolve): Resolve {
  const pending = new Map<string, Promise<readonly string[]>>();
  return (hostname) => {
    const shared = pending.get(hostname);
    if (shared !== undefined) return shared;
    if (pending.size >= MAX_LOOKUPS) {
      return Promise.reject(new OutboundError("dns", "Too many name look-ups are under way."));
    }
    const fresh = resolve(hostname).finally(() => pending.delete(hostname));
    pending.set(hostname, fresh);
    return fresh;
  };
}

/**
 * The look-up of a socket that refuses a name when any of its addresses is forbidden, and else
 * hands over exactly the addresses that were checked, so a second answer cannot be dialled.
 */
export function guardLookup(resolve: Resolve, allowPrivate: boolean): LookupFunction {
  return (hostname, options, done) => {
    checkedAddresses(resolve, hostname, allowPrivate).then(
      (all) => {
        const [first] = all;
        if (options.all) done(null, all);
        else if (first !== undefined) done(null, first.address, first.family);
      },
      (error) => done(error, "", 0),
    );
  };
}

async function checkedAddresses(resolve: Resolve, hostname: string, allowPrivate: boolean) {
  const found = await resolve(hostname).catch((cause) => {
    if (cause instanceof OutboundError) throw cause;
    throw new OutboundError("dns", `${hostname} cannot be resolved.`, { cause });
  });
  if (found.length === 0) throw new OutboundError("dns", `${hostname} has no address.`);
  const forbidden = found.find((ip) => isIP(ip) === 0 || (!allowPrivate && !isPublicAddress(ip)));
  if (forbidden !== undefined) throw refusedAddress(hostname, forbidden);
  return found.slice(0, MAX_ADDRESSES).map((address) => ({ address, family: isIP(address) }));
}
