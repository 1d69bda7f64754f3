import type { Tenant } from "../../kv/store/collection.ts";

/** Something that one area tells others once it has been committed. Listeners are wired in the composition. */
class Signal<T> {
  readonly #listeners: ((news: T) => void)[] = [];

  /** Calls `listener` with all that is sent from now on. It must not throw. */
  on(listener: (news: T) => void): void {
    this.#listeners.push(listener);
  }

  send(news: T): void {
    for (const listener of this.#listeners) listener(news);
  }
}

/** Everything that areas tell each other: the one list. */
export class Signals {
  /** An event of this type was committed. */
  readonly eventWritten = new Signal<
    {
      readonly tenant: Tenant;
      readonly type: string;
      readonly details: Readonly<Record<string, unknown>>;
    }
  >();
  /** A checkpoint of this tenant's log was signed and stored. */
  readonly checkpointSigned = new Signal<Tenant>();
  /** An integration of this tenant has work: an event or a revocation to send, or tokens to refresh. */
  readonly integrationDue = new Signal<Tenant>();
}
