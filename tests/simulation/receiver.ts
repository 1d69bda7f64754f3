import type { OutboundRequest } from "../../core/ports/ports.ts";
import type { Random } from "../support/random.ts";
import type { Cluster, Instance } from "./cluster.ts";

/** One attempt as its receiver saw it. */
export interface Attempt {
  readonly by: Instance;
  readonly atMs: number;
  readonly isTaken: boolean;
}

/** The receiver of the webhooks: it fails now and then, and remembers every attempt. */
export class Receiver {
  readonly attempts = new Map<string, Attempt[]>();

  constructor(private readonly cluster: Cluster, private readonly dice: Random) {}

  /** Receives what an instance sends. */
  listenTo(by: Instance): void {
    const { calls } = this.cluster;
    by.world.network.reply = (request) => calls.make(by, () => this.#take(by, request), []);
  }

  #take(by: Instance, { headers }: OutboundRequest): number {
    const id = headers["webhook-id"]!, isTaken = this.dice.chance(0.7);
    const seen = this.attempts.get(id) ?? [];
    this.attempts.set(id, [...seen, { by, atMs: this.cluster.calls.nowMs, isTaken }]);
    return isTaken ? 204 : 500;
  }
}
