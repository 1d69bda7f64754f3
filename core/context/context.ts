/**
 * What every rule may use: store, log, ports, configuration, sealer and signals. The area also holds the settings that
 * the process was started with, the signals that areas send after a commit, the tracker of background work, and the
 * runner of jobs whose rows are in the store.
 *
 * State in memory: the listeners of signals and the running background tasks, which belong to one process. Each
 * instance reads the configuration for itself.
 */
import type { EventLog } from "../../kv/log/log.ts";
import type { Store } from "../../kv/store/store.ts";
import type { Sealer } from "../codec/codec.ts";
import type { Ports } from "../ports/ports.ts";
import type { Config } from "./config.ts";
import type { Signals } from "./signals.ts";

export {
  type AccessRule,
  BUILT_IN_PLANS,
  type Config,
  type ConfigSource,
  parseConfig,
  planOf,
} from "./config.ts";
export { ENVIRONMENT, type Environment } from "./environment.ts";
export type { Issuer } from "./issuer_config.ts";
export {
  publicOrigin,
  readSettings,
  readStoreSettings,
  type Settings,
  type StoreSettings,
} from "./settings.ts";
export { Signals } from "./signals.ts";
export { unreadVariables } from "./unread_variables.ts";

/** The parts that every rule may use. Other parts are handed to the functions that need them. */
export interface Context {
  readonly store: Store;
  readonly log: EventLog;
  readonly ports: Ports;
  /** The configuration in force; a reload replaces it whole. */
  readonly config: () => Config;
  readonly sealer: Sealer;
  /** The signals that areas send each other after a commit. */
  readonly signals: Signals;
}
