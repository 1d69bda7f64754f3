import type { Appending } from "../../kv/log/appends.ts";
import type { EventLog } from "../../kv/log/log.ts";
import type { Reader } from "../../kv/store/reader.ts";
import type { Store } from "../../kv/store/store.ts";
import type { Tx } from "../../kv/store/tx.ts";
import type { Ports, Sealer } from "../ports/ports.ts";
import type { Actor } from "./actor.ts";
import type { Config } from "./config.ts";
import type { RequestInfo } from "./request.ts";
import type { Signals } from "./signals.ts";

/** The parts that every rule may use. Other parts are handed to the functions that need them. */
export interface Context {
  readonly store: Store;
  readonly log: EventLog;
  readonly ports: Ports;
  /** The configuration in force; a reload replaces it whole. */
  readonly config: () => Config;
  readonly sealer: Sealer;
  /** What areas tell each other after a commit. */
  readonly signals: Signals;
}

interface Base extends Context {
  readonly actor: Actor;
  readonly request: RequestInfo;
}

/** The context of a rule that reads. */
export interface Reading extends Base {
  readonly db: Reader;
}

/** The context of a rule that writes in one transaction, which reruns after a conflict. */
export interface Writing extends Base {
  readonly db: Tx;
  readonly tx: Tx;
}

/** The context of a rule with several commits. */
export interface Stepping extends Base {
  readonly db: Reader;
  /** Records this use of an API key in the rule's last commit instead of a separate one. */
  recordUse(tx: Appending, status: number): void;
}

/** Any context, for rules that only read. */
export type Work = Reading | Writing | Stepping;
