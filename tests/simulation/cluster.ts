import { ManualClock } from "../support/clock.ts";
import type { Random } from "../support/random.ts";
import { World } from "../support/world.ts";
import { type Caller, Calls, type Fault } from "./calls.ts";
import { kvOver, MemoryKv } from "./memory_kv.ts";

/** The largest difference between two clocks. */
const SKEW_MS = 5 * 60_000;
const READ_FAULTS: readonly Fault[] = ["refused", "late"];
const WRITE_FAULTS: readonly Fault[] = ["refused", "reply lost", "late"];
/** How far all clocks move at once. */
const STRIDE_MS = 500;

/** One instance of the cluster, with a machine clock of its own. */
export interface Instance extends Caller {
  readonly name: string;
  readonly world: World;
  readonly clock: ManualClock;
  /** How far its clock has fallen behind while it was frozen. */
  behindMs: number;
  /** When a frozen process goes on. */
  wakesAtMs: number;
  /** When it last began or ceased to have faults, froze, woke up or died. */
  disturbedAtMs: number;
}

/** Instances over one store in memory, whose calls fail and whose processes freeze and die. */
export class Cluster {
  readonly engine = new MemoryKv();
  readonly calls: Calls;
  readonly instances: Instance[] = [];
  #opened = 0;
  readonly #startMs = new ManualClock().nowMs;

  constructor(private readonly dice: Random, private readonly config?: Record<string, unknown>) {
    this.calls = new Calls(dice);
  }

  /** Starts an instance whose clock is wrong by up to half of SKEW_MS. */
  async open(): Promise<Instance> {
    const n = ++this.#opened;
    const skewMs = this.dice.below(SKEW_MS) - SKEW_MS / 2;
    const clock = new ManualClock(this.#startMs + this.calls.nowMs + skewMs);
    const instance: Omit<Instance, "world"> = {
      name: `i${n}`,
      clock,
      state: "awake",
      faults: 0,
      behindMs: 0,
      wakesAtMs: 0,
      disturbedAtMs: -Infinity,
    };
    this.instances.push(instance as Instance);
    const kv = kvOver(
      this.engine,
      instance.name,
      (effect, writes) => this.calls.make(instance, effect, writes ? WRITE_FAULTS : READ_FAULTS),
      (deliver) => this.calls.hint(instance, deliver),
    );
    const world = await this.drive(World.open({
      kv,
      clock,
      sole: false,
      remote: true,
      seed: this.dice.below(1 << 30),
      ...(this.config && { config: this.config }),
    }));
    return Object.assign(instance as Instance, { world });
  }

  /** The instances that have started and neither sleep nor are dead. */
  get awake(): Instance[] {
    return this.instances.filter(({ state, world }) => state === "awake" && world !== undefined);
  }

  /** Moves all clocks on; those of frozen processes stand still. */
  async advance(ms: number): Promise<void> {
    for (let leftMs = ms; leftMs > 0; leftMs -= STRIDE_MS) {
      const byMs = Math.min(STRIDE_MS, leftMs);
      this.calls.nowMs += byMs;
      for (const instance of this.instances) {
        if (instance.state === "awake") instance.clock.advance(byMs);
        else if (instance.state === "frozen") this.#sleep(instance, byMs);
      }
      await this.calls.settle();
    }
  }

  /** Moves time on until a promise resolves. */
  async drive<T>(promise: Promise<T>): Promise<T> {
    let isOver = false;
    const over = () => isOver = true;
    promise.then(over, over);
    for (let n = 0; n < 2_000 && !isOver; n++) {
      await this.calls.settle();
      if (!isOver) await this.advance(STRIDE_MS);
    }
    if (!isOver) throw new Error("a call never ended");
    return await promise;
  }

  kill(instance: Instance): void {
    this.calls.forget(instance);
    instance.disturbedAtMs = this.calls.nowMs;
  }

  /** Makes this share of an instance's calls fail. */
  disturb(instance: Instance, faults: number): void {
    if (instance.faults > 0 || faults > 0) instance.disturbedAtMs = this.calls.nowMs;
    instance.faults = faults;
  }

  /** Stops a process for some time. */
  freeze(instance: Instance, ms: number): void {
    instance.state = "frozen";
    instance.wakesAtMs = this.calls.nowMs + ms;
    instance.disturbedAtMs = this.calls.nowMs;
  }

  /**
   * Wakes a frozen process when it is time. The timers that fell due meanwhile fire before or after the process learns
   * of answers that came meanwhile.
   */
  #sleep(instance: Instance, byMs: number): void {
    instance.behindMs += byMs;
    if (instance.wakesAtMs > this.calls.nowMs) return;
    instance.state = "awake";
    instance.disturbedAtMs = this.calls.nowMs;
    instance.clock.freeze(instance.behindMs);
    instance.behindMs = 0;
    this.calls.whenReady(instance, () => instance.clock.advance(0));
  }
}
