import { askedBy } from "../commands/asked_by.ts";
import {
  type CommandRecord,
  commands,
  type FleetCommandRecord,
  fleetCommands,
  type FleetStop,
  isOpen,
} from "../../../kv/records/command.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import { emit } from "../../events/events.ts";
import type { Cancel } from "../../ports/ports.ts";
import { abandonCommand } from "../commands/cancel.ts";
import { countsIn, countsOf, failuresIn, idsByStatus, isFailure, openIn } from "./counts.ts";
import { resolveHeld, withdrawHeld } from "./held.ts";
import { type DriveParts, endUnsent } from "./parts.ts";
import { forEach } from "../at_once.ts";
import { type HandedOver, takeBack, takeTurn } from "./turn.ts";

/** How often to look at commands whose changes nobody reports here. */
const LOOK_MS = 1_000;

/**
 * Starts the commands of one fleet command, a bounded number at once, until all have ended. What it has in memory only
 * says when to look: each start, stop and end is settled by the rows.
 */
export class Drive {
  /** Those that have not had their turn, in order. */
  #waiting: string[] = [];
  /** Those whose agents are waited for. */
  readonly #unreachable = new Set<string>();
  /** Those that were started and have not ended. */
  readonly #open = new Set<string>();
  /** Those of them whose end nobody reports here. */
  readonly #unheard = new Set<string>();
  /** Those that were asked to end. */
  readonly #cancelled = new Set<string>();
  readonly #handedOver = new Map<string, HandedOver>();
  #failures = 0;
  #held: boolean;
  #over = false;
  /** Whether a failed round may have lost track of some. */
  #lost = false;
  #look = false;
  #working = false;
  #again = false;
  #tick: Cancel | null = null;
  readonly #end = Promise.withResolvers<void>();

  constructor(
    private readonly parts: DriveParts,
    private readonly tenant: Tenant,
    private fleet: FleetCommandRecord,
    private readonly over: () => void,
  ) {
    this.#held = fleet.approvals.length > 0;
  }

  /** Resolves when all commands have ended, or another instance drives them. */
  get ended(): Promise<void> {
    return this.#end.promise;
  }

  /** Begins with commands of which none has started, after so many failures. */
  begin(waiting: readonly string[], failures: number): void {
    this.#waiting = [...waiting];
    this.#failures = failures;
    this.wake(true);
  }

  /** Goes on with what another process, or an earlier one, has begun. */
  async resume(): Promise<void> {
    const ids = await this.#joinOthers();
    // Counted from the same read: a command that fails afterwards is counted at its end.
    this.#failures = failuresIn(countsIn(ids));
    this.wake(true);
  }

  /** Goes on where something may have changed; `look` when the change came from elsewhere. */
  wake(look = false): void {
    this.#look ||= look;
    this.#again = true;
    if (this.#working || this.#over) return;
    this.#working = true;
    this.parts.background.run("driving a fleet command", async () => {
      let failed = true;
      try {
        while (this.#again && !this.#over) {
          this.#again = false;
          await this.#round();
        }
        failed = false;
      } finally {
        this.#working = false;
        this.#lost ||= failed;
        if (failed || this.#unheard.size + this.#unreachable.size > 0) this.#lookLater();
      }
    });
  }

  /** Starts nothing further. What runs goes on. */
  leave(): void {
    this.#over = true;
    this.#tick?.();
    this.over();
    this.#end.resolve();
  }

  #lookLater(): void {
    if (this.#over) return;
    this.#tick ??= this.parts.ports.clock.after(LOOK_MS, () => {
      this.#tick = null;
      this.wake(true);
    });
  }

  async #round(): Promise<void> {
    if (this.#look && !await this.#lookAround()) return;
    const { stop_after_failures: most } = this.fleet;
    if (most !== null && this.#failures >= most && this.fleet.stop === null) await this.#giveUp();
    const { stop } = this.fleet;
    if (stop === null) await this.#startWaiting();
    else await this.#stop(stop);
    const left = this.#waiting.length + this.#unreachable.size + this.#open.size;
    if (left === 0 && !this.#held && !this.#look) await this.#finish();
  }

  /** Reads what may have changed elsewhere; false when this instance no longer drives the fleet command. */
  async #lookAround(): Promise<boolean> {
    const { parts, tenant } = this;
    this.#look = false;
    const fleet = await parts.store.get(fleetCommands, tenant, this.fleet.id);
    if (fleet?.status !== "running" || fleet.owner !== parts.instance) {
      this.leave();
      return false;
    }
    this.fleet = fleet;
    if (this.#lost) await this.#joinOthers();
    this.#lost = false;
    this.#waiting.push(...this.#unreachable);
    this.#unreachable.clear();
    await forEach([...this.#unheard], (id) => this.#lookAt(id));
    if (this.#held && fleet.stop === null) {
      const { ready, waiting } = await resolveHeld(parts, tenant, fleet);
      this.#waiting.push(...ready);
      this.#held = waiting;
    }
    return true;
  }

  async #lookAt(id: string): Promise<void> {
    const { parts, tenant } = this;
    let record = await parts.store.get(commands, tenant, id);
    if (record?.status === "queued" && record.start_before_ms !== null) {
      record = await takeBack(parts, tenant, id);
    }
    if (record === null || !isOpen(record)) return this.#ended(id, record);
    if (record.status !== "queued" || record.start_before_ms !== null) return;
    // It has not had its turn, or not been claimed in it.
    this.#unheard.delete(id);
    this.#open.delete(id);
    this.#waiting.push(id);
  }

  async #startWaiting(): Promise<void> {
    const room = Math.max(0, this.fleet.parallel - this.#open.size);
    const ids = this.#waiting.splice(0, room);
    for (const id of ids) this.#open.add(id);
    await Promise.all(ids.map((id) => this.#start(id)));
    if (this.#waiting.length > 0 && this.#open.size < this.fleet.parallel) this.#again = true;
  }

  async #start(id: string): Promise<void> {
    try {
      const outcome = await takeTurn(this.parts, this.tenant, this.fleet, id, this.#handedOver);
      if (outcome === "later") {
        this.#open.delete(id);
        this.#unreachable.add(id);
      } else if ("ended" in outcome) this.#ended(id, outcome.ended);
      else {
        outcome.done.then(
          (record) => isOpen(record) ? this.#notHeard(id) : this.#ended(id, record),
          () => this.#notHeard(id),
        );
      }
    } catch (error) {
      // It may have started all the same.
      this.#unheard.add(id);
      throw error;
    }
  }

  /** Joins those that have not ended and are not known here. Returns all, by status. */
  async #joinOthers(): ReturnType<typeof idsByStatus> {
    const { parts: { store }, tenant, fleet: { id } } = this;
    const ids = await idsByStatus(store, tenant, id);
    const known = new Set([...this.#waiting, ...this.#unreachable, ...this.#open]);
    for (const status of ["queued", "running"] as const) {
      for (const other of ids.get(status) ?? []) {
        if (known.has(other)) continue;
        this.#open.add(other);
        this.#unheard.add(other);
      }
    }
    return ids;
  }

  #notHeard(id: string): void {
    this.#unheard.add(id);
    this.#lookLater();
  }

  #ended(id: string, record: CommandRecord | null): void {
    this.#unheard.delete(id);
    this.#handedOver.delete(id);
    if (!this.#open.delete(id)) return;
    if (record !== null && isFailure(record.status)) this.#failures++;
    this.wake();
  }

  /** Records that enough commands have failed. */
  async #giveUp(): Promise<void> {
    const { parts: { instance, ports, store }, tenant } = this;
    this.wake(true);
    await store.transact(async (tx) => {
      const fleet = await tx.get(fleetCommands, tenant, this.fleet.id);
      if (fleet?.owner !== instance || fleet.stop !== null) return;
      const stop = { reason: "failures", by: null, at_ms: ports.clock.now() } as const;
      this.fleet = tx.put(fleetCommands, tenant, { ...fleet, stop });
    });
  }

  async #stop({ reason, by }: FleetStop): Promise<void> {
    const { parts, tenant } = this;
    const why = WHY[reason];
    const ids = [...this.#waiting.splice(0), ...this.#unreachable];
    this.#unreachable.clear();
    const ending = { status: "cancelled", why, by } as const;
    await forEach(ids, (id) => endUnsent(parts, tenant, id, "queued", ending));
    if (this.#held) {
      await withdrawHeld(parts, tenant, this.fleet, { by, why });
      this.#held = false;
    }
    if (reason === "failures") return;
    const running = [...this.#open].filter((id) => !this.#cancelled.has(id));
    await forEach(running, async (id) => {
      // One that another instance has not claimed yet is never sent.
      const record = await endUnsent(parts, tenant, id, "queued", ending);
      if (record?.status === "running") await abandonCommand(parts, tenant, record, by ?? "relay");
      this.#cancelled.add(id);
    });
  }

  /** Records the end, if all commands have ended. */
  async #finish(): Promise<void> {
    const { parts: { instance, ports, signals, store }, tenant, fleet: { id } } = this;
    const counts = await countsOf(store, tenant, id);
    if (openIn(counts) > 0) {
      this.#held = counts.pending_approval > 0;
      return await this.resume();
    }
    await store.transact(async (tx) => {
      const fleet = await tx.get(fleetCommands, tenant, id);
      if (fleet?.owner !== instance || fleet.status !== "running") return;
      // A preparation that was cut off recorded only some of its commands.
      const total = Object.values(counts).reduce((sum, n) => sum + n, 0);
      const finished_at_ms = ports.clock.now();
      tx.put(fleetCommands, tenant, { ...fleet, total, status: "ended", finished_at_ms });
      const { request_id, stop, traceparent } = fleet;
      const request = { id: request_id, trace: ports.tracing?.resume(traceparent) ?? null };
      const by = { ports, signals, actor: askedBy(fleet), request };
      emit(by, tx, tenant, {
        type: "fleet_command_ended",
        resource: { type: "fleet_command", id },
        thread: fleet.alert_id,
        details: {
          agents: total,
          counts: Object.fromEntries(Object.entries(counts).filter(([, n]) => n > 0)),
          stopped: stop && stop.reason,
          ...(stop?.by && { cancelled_by: stop.by }),
        },
      });
    });
    this.leave();
  }
}

/** Why a command was not started. */
const WHY = {
  cancelled: "the fleet command was cancelled",
  failures: "enough other commands of the fleet command failed",
  relay_stopped: "the relay stopped before it had recorded all commands, so none was started",
} as const satisfies Record<FleetStop["reason"], string>;
