import { type FleetCommandRecord, fleetCommands } from "../../../kv/records/command.ts";
import type { Found } from "../../../kv/store/reader.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import { everyQueued } from "../../../kv/store/iterate.ts";
import { Drive } from "./drive.ts";
import type { DriveParts } from "./parts.ts";

const BATCH_MAX = 100;

interface Adopting extends DriveParts {
  readonly presence: { isGone(instance: string): Promise<boolean> };
}

/**
 * The fleet commands that this instance drives. The row of each names the instance that does; another one takes over
 * when that one is dead, by compare-and-set.
 */
export class FleetCommands {
  readonly #drives = new Map<string, Drive>();
  /** Those whose commands are being recorded here. */
  readonly #preparing = new Map<string, Promise<unknown>>();
  #stopped = false;

  constructor(private readonly parts: () => Adopting) {}

  /** Notes that a fleet command is being recorded here until `record` has returned. */
  async whileRecording<R>(id: string, record: () => Promise<R>): Promise<R> {
    const recording = record();
    this.#preparing.set(id, recording.catch(() => {}));
    try {
      return await recording;
    } finally {
      this.#preparing.delete(id);
    }
  }

  /** Resolves when a fleet command is recorded; undefined when it is not being recorded here. */
  whenRecorded(id: string): Promise<unknown> | undefined {
    return this.#preparing.get(id);
  }

  /** Starts the commands of a new fleet command, of which so many have failed already. */
  begin(
    tenant: Tenant,
    fleet: FleetCommandRecord,
    waiting: readonly string[],
    failures: number,
  ): void {
    this.#drive(tenant, fleet)?.begin(waiting, failures);
  }

  /** Resolves when a fleet command has ended; undefined when it is not driven here. */
  whenEnded(id: string): Promise<void> | undefined {
    return this.#drives.get(id)?.ended;
  }

  /** Looks at a fleet command that may have changed, if it is driven here. */
  look(id: string): void {
    this.#drives.get(id)?.wake(true);
  }

  /** Takes over the fleet commands that a dead instance drove. */
  async takeOver(dead: string): Promise<void> {
    await this.#adoptAll([dead], () => true);
  }

  /** Looks at all that are driven here, and takes over those that nobody drives. */
  async sweep(): Promise<void> {
    const { instance, presence } = this.parts();
    for (const drive of this.#drives.values()) drive.wake(true);
    await this.#adoptAll(
      [],
      ({ id, owner }) =>
        owner === instance
          ? !this.#drives.has(id) && !this.#preparing.has(id)
          : presence.isGone(owner),
    );
  }

  /** Starts nothing further. */
  stop(): void {
    this.#stopped = true;
    for (const drive of [...this.#drives.values()]) drive.leave();
  }

  async #adoptAll(
    prefix: readonly string[],
    wanted: (fleet: FleetCommandRecord) => boolean | Promise<boolean>,
  ): Promise<void> {
    const { store } = this.parts();
    const all = everyQueued(store, fleetCommands, "open", { prefix, limit: BATCH_MAX });
    for await (const found of all) if (await wanted(found.record)) await this.#adopt(found);
  }

  async #adopt({ tenant, record: found }: Found<FleetCommandRecord>): Promise<void> {
    const { instance, ports, store } = this.parts();
    const adopted = await store.transact(async (tx) => {
      const fleet = await tx.get(fleetCommands, tenant, found.id);
      if (fleet === null || fleet.status === "ended" || fleet.owner !== found.owner) return null;
      if (fleet.status === "running") {
        return tx.put(fleetCommands, tenant, { ...fleet, owner: instance });
      }
      // Nobody was told of it and nothing ran, so its Idempotency-Key is free again.
      return tx.put(fleetCommands, tenant, {
        ...fleet,
        owner: instance,
        status: "running",
        stop: { reason: "relay_stopped", by: null, at_ms: ports.clock.now() },
        idempotency: null,
      });
    });
    if (adopted === null) return;
    // One of an earlier time, which has not noticed that others drove it since.
    this.#drives.get(adopted.id)?.leave();
    await this.#drive(tenant, adopted)?.resume();
  }

  #drive(tenant: Tenant, fleet: FleetCommandRecord): Drive | undefined {
    if (this.#stopped || this.#drives.has(fleet.id)) return undefined;
    const drive: Drive = new Drive(this.parts(), tenant, fleet, () => {
      if (this.#drives.get(fleet.id) === drive) this.#drives.delete(fleet.id);
    });
    this.#drives.set(fleet.id, drive);
    return drive;
  }
}
