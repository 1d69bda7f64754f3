import { type Clock, type Outbound, OutboundError } from "../interfaces.ts";
import { Deadlines } from "./deadlines.ts";
import { exchange } from "./exchange.ts";
import { Pool } from "./pool.ts";
import { type Resolve, resolveBySystem, shareLookups } from "./resolve.ts";
import { checkTarget } from "./target.ts";

/** Concurrent requests. Further ones are refused, because a queue would be unbounded. */
const MAX_IN_FLIGHT = 1024; // the usual soft limit of open files

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
    open: new Pool({ lookUp, allowPrivate: true, ...roots }),
    guarded: new Pool({ lookUp, allowPrivate: false, ...roots }),
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
        return await exchange(request, { url, pool, deadlines });
      } finally {
        inFlight--;
      }
    },
    close() {
      closed = true;
      pools.open.close();
      pools.guarded.close();
    },
  };
}
