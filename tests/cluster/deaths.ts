import { agents } from "../../kv/records/agent.ts";
import { StoreUnavailableError } from "../../kv/engine/errors.ts";
import { everyQueued } from "../../kv/store/iterate.ts";
import { readJournals } from "../../kv/store/journal.ts";
import type { Store } from "../../kv/store/store.ts";
import { JOURNAL } from "../../core/agents/commands/running_commands.ts";
import { delay } from "./wait.ts";

/** Others have taken over everything that a dead instance held after this time. */
const TAKEN_OVER_MS = 25_000;
const POLL_MS = 250;

interface Death {
  readonly id: string;
  readonly diedMs: number;
  /** When the time began in which the takeover must happen. */
  sinceMs: number;
  /** Instances that have lived since then, of which one takes over. */
  witnesses: Set<string>;
  settled: boolean;
}

/**
 * The instances that were killed, and whether others took over in time. The time begins anew when the store was away,
 * when the instance that takes over dies, and when every instance that saw the death has died.
 */
export class Deaths {
  readonly #all: Death[] = [];
  #storeAway = false;
  /** How long each takeover took since its time began, in ms. */
  readonly tookMs: number[] = [];
  /** How many of them took that time since the death itself. */
  undisturbed = 0;
  #running: Promise<void> | null = null;
  #ended = false;

  constructor(private readonly store: Store) {}

  /** Runs until `stop`. @throws {Error} when a takeover does not happen in time */
  watch(): Promise<void> {
    return this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#ended = true;
    await this.#running;
  }

  get open(): number {
    return this.#all.filter(({ settled }) => !settled).length;
  }

  isOpen(id: string): boolean {
    return this.#all.some((death) => death.id === id && !death.settled);
  }

  /** An instance was killed while these others lived. */
  async add(id: string, live: readonly string[]): Promise<void> {
    for (const death of this.#all) {
      if (death.settled) continue;
      death.witnesses.delete(id);
      if (death.witnesses.size > 0 && await this.#reaperOf(death.id) !== id) continue;
      this.#begin(death, live);
    }
    const diedMs = performance.now();
    this.#all.push({ id, diedMs, sinceMs: diedMs, witnesses: new Set(live), settled: false });
  }

  /** An instance was started: where no other lives, it is the first that can see the death. */
  started(live: readonly string[]): void {
    for (const death of this.#all) {
      if (!death.settled && death.witnesses.size === 0) this.#begin(death, live);
    }
  }

  storeAway(): void {
    this.#storeAway = true;
  }

  storeBack(live: readonly string[]): void {
    this.#storeAway = false;
    for (const death of this.#all) if (!death.settled) this.#begin(death, live);
  }

  #begin(death: Death, live: readonly string[]): void {
    death.sinceMs = performance.now();
    death.witnesses = new Set(live);
  }

  async #reaperOf(id: string): Promise<string | null> {
    try {
      const { value } = await this.store.kv.get<{ by: string }>(["~", "death", id]);
      return value?.by ?? null;
    } catch (error) {
      if (error instanceof StoreUnavailableError) return null; // its return begins the time anew
      throw error;
    }
  }

  async #run(): Promise<void> {
    while (!this.#ended) {
      for (const death of this.#all) if (!death.settled) await this.#check(death);
      await delay(POLL_MS);
    }
  }

  async #check(death: Death): Promise<void> {
    const askedMs = performance.now();
    let held: string[];
    try {
      held = await heldBy(this.store, death.id);
    } catch (error) {
      if (error instanceof StoreUnavailableError) return;
      throw error;
    }
    const tookMs = askedMs - death.sinceMs;
    if (held.length === 0) {
      death.settled = true;
      this.tookMs.push(Math.max(0, tookMs));
      if (death.sinceMs === death.diedMs) this.undisturbed++;
    } else if (tookMs > TAKEN_OVER_MS && !this.#storeAway) {
      throw new Error(
        `${Math.round(tookMs)} ms after the death of ${death.id}: ${held.join(", ")}`,
      );
    }
  }
}

/** What the store says an instance still holds, and whether others have noticed its death. */
async function heldBy(store: Store, id: string): Promise<string[]> {
  const held: string[] = [];
  const [presence, death] = await store.kv.getMany([["~", "instance", id], ["~", "death", id]]);
  if (presence!.versionstamp !== null) held.push("its death is not declared");
  if (death!.versionstamp !== null) held.push("its takeover has not ended");
  for await (
    const { record } of everyQueued(store, agents, "linked", { prefix: [id], limit: 50 })
  ) {
    held.push(`agent ${record.id} is ${record.status}`);
  }
  for await (const { name, texts } of readJournals(store, `${JOURNAL}${id}`)) {
    held.push(`${texts.length} commands of ${name} are open`);
  }
  return held;
}
