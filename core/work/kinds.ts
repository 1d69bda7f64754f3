import type { Appending } from "../../kv/log/appends.ts";
import type { Reader } from "../../kv/store/reader.ts";
import type { Tx } from "../../kv/store/tx.ts";
import type { Context } from "../context/context.ts";
import type { Actor, RequestInfo } from "../identity/identity.ts";

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
