import type { Random } from "../support/random.ts";
import type { Account, Answer } from "../support/world.ts";
import type { Cluster, Instance } from "./cluster.ts";

/** The API keys and people of a history, all of one organization. */
export interface Credentials {
  readonly owner: Account;
  /** Another person, who approves. */
  readonly second: Account;
  /** Asks for commands. */
  readonly key: string;
  /** Keys of which each is revoked once. */
  readonly spare: { id: string; value: string; revokedMs: number | null }[];
  /** Asks as often as it can. It is a test key, whose limit is low. */
  readonly eager: string;
}

/** Asks instances of a cluster, and counts what a history has exercised. */
export class Asker {
  /** What calls threw. */
  readonly failures: unknown[] = [];
  /** How often each thing happened that a history must exercise. */
  readonly tally: Record<string, number> = {};

  constructor(
    private readonly dice: Random,
    private readonly cluster: Cluster,
    readonly credentials: Credentials,
    readonly note: (text: string) => void,
  ) {}

  get nowMs(): number {
    return this.cluster.calls.nowMs;
  }

  count(what: string): void {
    this.tally[what] = (this.tally[what] ?? 0) + 1;
  }

  /** An instance that answers now. */
  any(): Instance {
    return this.dice.pick(this.cluster.awake);
  }

  /** Does something beside everything else. */
  start(act: () => Promise<void>): void {
    act().catch((error) => this.failures.push(error));
  }

  /** The answer arrives if the instance lives to give it. */
  call(
    at: Instance,
    method: string,
    path: string,
    call: { as?: string; body?: unknown } = {},
  ): Promise<Answer> {
    return at.world.call(method, path, { as: this.credentials.key, ...call });
  }

  /** Waits for some of the cluster's time. */
  pause(ms: number): Promise<void> {
    return this.cluster.calls.pause(ms);
  }
}
