import { isIP } from "node:net";

import { type Clock, type Outbound, OutboundError } from "../interfaces.ts";
import { Deadlines } from "./deadlines.ts";
import { exchange } from "./exchange.ts";
import { Pool } from "./pool.ts";
import { checkedAddresses, type Resolve, resolveBySystem, shareLookups } from "./resolve.ts";
import { checkTarget, dialledHost } from "./target.ts";

/** Concurrent requests. Further ones are refused, because a queue would be unbounded. */
const MAX_IN_FLIGHT = 1024; // the usual soft limit of open files
/** How long a check waits for a name, in ms. */
const CHECK_MS = 2_000;

export interface SafeOutboundOptions {
  /** Whether private, loopback and other internal addresses may be dialled; read at each request. */
  readonly allowPrivateTargets: () => boolean;
  readonly clock: Clock;
  /** Resolves names; default: the system's resolver. */
  readonly resolve?: Resolve;
  /** PEM certificates of authorities to trust instead of the public ones. */
  readonly trustedRoots?: readonly string[];
}

/** The network port: dials only addresses that the current policy allows. */
export function safeOutbound(options: SafeOutboundOptions): Outbound {
  const lookUp = shareLookups(options.resolve ?? resolveBySystem);
  const { trustedRoots } = options;
  const roots = trustedRoots === undefined ? {} : { trustedRoots };
  const pools: Readonly<Record<"open" | "guarded", Pool>> = {
    open: new Pool({ lookUp, allowPrivate: true, clock: options.clock, ...roots }),
    guarded: new Pool({ lookUp, allowPrivate: false, clock: options.clock, ...roots }),
  };
  const deadlines = new Deadlines(options.clock);
  let inFlight = 0;
  let closed = false;
  return {
    async request(request) {
      if (closed) throw new OutboundError("connect", "The network port is closed.");
      if (inFlight >= MAX_IN_FLIGHT) {
        throw new OutboundError("connect", `More than ${MAX_IN_FLIGHT} requests are in progress.`);
      }
      const allowPrivate = options.allowPrivateTargets();
      const url = checkTarget(request.url, allowPrivate);
      const pool = allowPrivate ? pools.open : pools.guarded;
      inFlight++;
      try {
        return await exchange(request, { url, pool, deadlines, clock: options.clock });
      } finally {
        inFlight--;
      }
    },
    async check(text, organization) {
      const allowPrivate = options.allowPrivateTargets();
      const host = dialledHost(checkTarget(text, allowPrivate));
      if (allowPrivate || isIP(host) !== 0) return;
      const left = new AbortController();
      const late = Promise.withResolvers<void>();
      const cancel = deadlines.after(CHECK_MS, late.resolve);
      const checked = checkedAddresses(lookUp(host, organization, left.signal), host, false);
      try {
        await Promise.race([checked, late.promise]);
      } catch (error) {
        if (error instanceof OutboundError && error.kind === "refused_address") throw error;
      } finally {
        cancel();
        left.abort();
      }
    },
    close() {
      closed = true;
      pools.open.close();
      pools.guarded.close();
    },
  };
}
