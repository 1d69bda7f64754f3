/**
 * Everything outside the process: time, randomness, the network, the log and traces, behind interfaces that tests
 * replace. Code above this area never touches the platform's own. Outbound requests dial only addresses that
 * the configuration allows, and follow no redirect. The area also holds the small tools for waiting: a gate that
 * bounds concurrency, deadlines, turns of the event loop, the tracker of background work, and the runner of jobs
 * whose rows are in the store.
 *
 * State in memory: connection pools, DNS answers and parsed addresses are a cache of this process only; running tasks
 * belong to it, and claims in the store keep two instances from doing the same job.
 */

export { Background } from "./background.ts";
export { makeGate } from "./gate.ts";
export {
  type AgentProgram,
  type AgentPrograms,
  type Cancel,
  type Clock,
  type Entropy,
  type Log,
  type Outbound,
  OutboundError,
  type OutboundRequest,
  type OutboundResponse,
  type Ports,
  type StoreBackups,
  type Timing,
} from "./interfaces.ts";
export { JobRunner, stepEach } from "./job_runner.ts";
export { logLine } from "./log_line.ts";
export { fetchBy } from "./outbound/as_fetch.ts";
export { mustBeDialable, mustResolveOutside } from "./outbound/dialable.ts";
export { TRANSPORT_HEADERS } from "./outbound/headers.ts";
export {
  type Cost,
  deriveHash,
  equalHashes,
  formatHash,
  parseHash,
  passwordCost,
  type Recipe,
  type StoredHash,
} from "./password_hash.ts";
export { systemClock, systemEntropy, systemLog, systemPorts } from "./system.ts";
export { openTracing } from "./tracing.ts";
export { nextTurn } from "./turn.ts";
export { within } from "./within.ts";
