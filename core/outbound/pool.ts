import { Agent as HttpAgent, type AgentOptions } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { LookupFunction } from "node:net";

import { guardLookup, type Resolve } from "./resolve.ts";

/** A slow receiver may hold this many sockets and no more; later requests wait in its line. */
const MAX_SOCKETS_PER_HOST = 64;

/** Sockets kept open for reuse, over all hosts of a pool. */
const MAX_IDLE_SOCKETS = 256;

/** Shorter than the 5 s after which common servers close, so reuse seldom meets a closing socket. */
const IDLE_SOCKET_MS = 4_000;

/** The kept sockets of one policy, by scheme. */
export interface Pool {
  agentFor(url: URL): HttpAgent;
  close(): void;
}

/**
 * Sockets are reused by name and port, whatever addresses were allowed when they were dialled:
 * therefore each policy has a pool of its own, and one pool never changes its policy.
 */
export function openPool(
  policy: { resolve: Resolve; allowPrivate: boolean; trustedRoots?: readonly string[] },
): Pool {
  const shared: AgentOptions & { lookup: LookupFunction; proxyEnv: Record<string, string> } = {
    keepAlive: true,
    maxSockets: MAX_SOCKETS_PER_HOST,
    timeout: IDLE_SOCKET_MS,
    lookup: guardLookup(policy.resolve, policy.allowPrivate),
    // A proxy from the environment would look names up by itself, behind the guard.
    proxyEnv: {},
  };
  const roots = policy.trustedRoots === undefined ? {} : { ca: [...policy.trustedRoots] };
  const http = boundIdle(new HttpAgent(shared));
  const https = boundIdle(new HttpsAgent({ ...shared, ...roots }));
  return {
    agentFor: (url) => url.protocol === "https:" ? https : http,
    close() {
      http.destroy();
      https.destroy();
    },
  };
}

/** Keeps a socket only while there is room, since the agent itself bounds idle ones per host. */
function boundIdle<A extends HttpAgent>(agent: A): A {
  const keep = agent.keepSocketAlive.bind(agent);
  agent.keepSocketAlive = (socket) => idleSockets(agent) < MAX_IDLE_SOCKETS && keep(socket);
  return agent;
}

function idleSockets(agent: HttpAgent): number {
  let idle = 0;
  for (const name in agent.freeSockets) idle += agent.freeSockets[name]?.length ?? 0;
  return idle;
}
