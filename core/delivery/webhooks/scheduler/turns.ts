import type { Receiver } from "./receiver.ts";

/** Receivers that could start an attempt: organizations take turns, and so do the receivers of each. */
export class Turns {
  readonly #byOrg = new Map<string, Set<Receiver>>();

  add(receiver: Receiver): void {
    const { org } = receiver.tenant;
    const receivers = this.#byOrg.get(org);
    if (receivers === undefined) this.#byOrg.set(org, new Set([receiver]));
    else receivers.add(receiver);
  }

  delete(receiver: Receiver): boolean {
    const { org } = receiver.tenant;
    const receivers = this.#byOrg.get(org);
    const was = receivers?.delete(receiver) ?? false;
    if (receivers?.size === 0) this.#byOrg.delete(org);
    return was;
  }

  /** Takes out the next receiver of the next organization that has free slots; null when there is none. */
  take(hasSlots: (org: string) => boolean): Receiver | null {
    for (const [org, receivers] of this.#byOrg) {
      if (!hasSlots(org)) continue;
      const [receiver] = receivers;
      this.#byOrg.delete(org);
      receivers.delete(receiver!);
      if (receivers.size > 0) this.#byOrg.set(org, receivers);
      return receiver!;
    }
    return null;
  }
}
