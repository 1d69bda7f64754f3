import { type Tenant, tenantKey } from "../../kv/store/collection.ts";
import { Journal } from "../../kv/store/journal.ts";
import { ChurnMap } from "../../kv/store/churn_map.ts";
import { type CommandRecord, commands } from "../../kv/records/command.ts";
import { StoreUnavailableError } from "../../kv/store/errors.ts";
import type { Store } from "../../kv/store/store.ts";
import type { App } from "../work/work.ts";
import type { Link } from "../agents/link.ts";
import type { Cancel } from "../ports/ports.ts";
import type { CommandResult, OutputFrame, RefusedFrame } from "../protocol/protocol.ts";
import type { OutputDigests } from "../protocol/statements.ts";
import { approvedDigest } from "./approvals/approved.ts";
import { writeNote } from "./note.ts";
import { mayStart } from "./queued.ts";
import { OUTPUT_BYTES_MAX, type OutputListener, RunningOutput } from "./running_output.ts";
import { commandSha256 } from "./text.ts";
import {
  type Ending,
  type InSettlement,
  type Outcome,
  outcomeOf,
  type Receipt,
  settleCommand,
  settleLate,
} from "./settle.ts";

/** The agent ends a command at its timeout; if it does not say so in this time, the relay does. */
const GRACE_MS = 5_000;
const SWEEP_MS = 1_000;
/** A minute of trying; after that the journal of open commands still has it for the next start. */
const RECORD_ATTEMPTS_MAX = 60;
/** Each process keeps its journal of open commands under this prefix and its own name. */
export const JOURNAL = "commands/";
const NOTE_CHARS_MAX = 8 * 1024;

/** How a command was put on record before it was sent. */
export interface Begun {
  /** Its place in the journal of open commands. */
  readonly place: string;
  /** True when it has a row already. */
  readonly stored: boolean;
  /** The digest that people approved, where they did. */
  readonly approvedSha256?: string;
}

interface Flight {
  readonly tenant: Tenant;
  readonly record: CommandRecord;
  readonly link: Link;
  readonly begun: Begun;
  readonly inSettlement: InSettlement;
  readonly done: Promise<CommandRecord>;
  readonly resolve: (record: CommandRecord) => void;
  readonly reject: (error: unknown) => void;
  /** How long until the relay ends it, should the agent not have said so. */
  leftMs: number;
  /** The verdict that it was sent under; null until then. */
  verdict: string | null;
  readonly output: RunningOutput;
  cancelledBy: string | null;
  settling: boolean;
}

/** The commands that are under way through this process's links. */
export class Commands {
  readonly #flights = new ChurnMap<Flight>();
  /** Ends of commands whose row is being written: who finds it sooner than its writer waits like others. */
  readonly #beginning = new Map<string, PromiseWithResolvers<CommandRecord>>();
  readonly #journal: Journal;
  readonly #written = { bytes: 0 };
  #timer: Cancel | null = null;

  constructor(private readonly app: () => App, store: Store, instance: string) {
    this.#journal = new Journal(store, `${JOURNAL}${instance}`, (error) => {
      this.#complain("ended commands could not be forgotten", error);
    });
  }

  /**
   * Puts a command on record as running; it may be sent once this has answered. Where others may ask for
   * it, or it is long, it gets its row at once.
   * @throws {DuplicateError} when another has its Idempotency-Key
   */
  async begin(tenant: Tenant, record: CommandRecord): Promise<Begun> {
    const { store } = this.app();
    if (store.sole && record.idempotency === null && record.command.length <= NOTE_CHARS_MAX) {
      return { place: await this.#journal.begin(writeNote(tenant, record)), stored: false };
    }
    let place = "";
    const end = Promise.withResolvers<CommandRecord>();
    end.promise.catch(() => {});
    this.#beginning.set(record.id, end);
    try {
      await store.transact((tx) => {
        tx.insert(commands, tenant, record);
        const text = writeNote(tenant, { ...record, command: "" });
        this.#journal.beginIn(tx, text, (at) => place = at);
      });
    } catch (error) {
      this.#beginning.delete(record.id);
      end.reject(error);
      throw error;
    }
    return { place, stored: true };
  }

  /** Takes a command that waits to be sent, so that nobody else sends it; null when it waits no more. */
  async take(tenant: Tenant, id: string): Promise<{ record: CommandRecord; begun: Begun } | null> {
    let place = "", approved = "";
    const record = await this.app().store.transact(async (tx) => {
      const queued = await tx.get(commands, tenant, id);
      approved = await approvedDigest(this.app(), tx, tenant, queued);
      const now = this.app().ports.clock.now();
      if (queued?.status !== "queued" || !mayStart(queued, now)) return null;
      const taken = {
        ...queued,
        status: "running",
        start_before_ms: null,
        started_at_ms: now,
      } as const;
      this.#journal.beginIn(tx, writeNote(tenant, { ...taken, command: "" }), (at) => place = at);
      return tx.put(commands, tenant, taken);
    });
    return record && { record, begun: { place, stored: true, approvedSha256: approved } };
  }

  /** A command that runs here, as it was begun. */
  running(tenant: Tenant, id: string): CommandRecord | null {
    const flight = this.#flights.get(id);
    return flight !== undefined && tenantKey(flight.tenant) === tenantKey(tenant)
      ? flight.record
      : null;
  }

  get size(): number {
    return this.#flights.size;
  }

  /**
   * Sends a command that is on record as running, once. `inSettlement` may add to the commit that
   * records its end.
   */
  start(
    tenant: Tenant,
    record: CommandRecord,
    begun: Begun,
    link: Link,
    inSettlement: InSettlement = () => {},
  ): Promise<CommandRecord> {
    const { promise, resolve, reject } = Promise.withResolvers<CommandRecord>();
    const flight: Flight = {
      tenant,
      record,
      begun,
      link,
      inSettlement,
      done: promise,
      resolve,
      reject,
      // The timer may be about to fire.
      leftMs: record.timeout_ms + GRACE_MS + (this.#timer === null ? 0 : SWEEP_MS),
      verdict: null,
      output: new RunningOutput(this.#written),
      cancelledBy: null,
      settling: false,
    };
    this.#flights.set(record.id, flight);
    if (begun.stored) {
      this.#beginning.get(record.id)?.resolve(promise);
      this.#beginning.delete(record.id);
    }
    const sha256 = commandSha256(record.command);
    const { approvedSha256 = sha256 } = begun;
    if (sha256 !== approvedSha256) {
      const why = "it is not what was approved, so it was not sent";
      const alarm = { type: "approval_mismatch", reason: why } as const;
      this.#settle(flight, { status: "failed", why, alarm });
      return promise;
    }
    const order = {
      command_id: record.id,
      command: record.command,
      timeout_ms: record.timeout_ms,
      max_output_bytes: OUTPUT_BYTES_MAX,
      policy_version: record.policy_version,
    };
    if (link.run({ order, sha256 })) {
      this.#timer ??= this.app().ports.clock.after(SWEEP_MS, () => this.#sweep());
    } else this.unsent(record.id);
    return promise;
  }

  /** A command has left under this verdict. */
  sent(id: string, verdict: string): void {
    const flight = this.#flights.get(id);
    if (flight !== undefined) flight.verdict = verdict;
  }

  /** A command could not be sent. */
  unsent(id: string): void {
    const flight = this.#flights.get(id);
    const why = "the link closed before it was sent";
    if (flight !== undefined) this.#settle(flight, { status: "failed", why });
  }

  /** Resolves when the ends of all commands are on record and the journal of open ones is empty. */
  async stop(): Promise<void> {
    this.#timer?.();
    await Promise.allSettled(this.#flights.values().map((flight) => flight.done));
    await this.#journal.stop();
  }

  /** The end of a command that is under way here, or undefined. */
  waitFor(id: string): Promise<CommandRecord> | undefined {
    return this.#flights.get(id)?.done ?? this.#beginning.get(id)?.promise;
  }

  /** Tells what a command under way here has written and writes; answers how to stop that. */
  follow(id: string, listener: OutputListener): () => void {
    return this.#flights.get(id)?.output.follow(listener) ?? (() => {});
  }

  /** Asks the agent to end a command; false when it is not under way here. */
  cancel(id: string, by: string): boolean {
    const flight = this.#flights.get(id);
    if (flight === undefined) return false;
    flight.cancelledBy ??= by;
    return flight.link.send({ type: "cancel", command_id: id });
  }

  output(agentId: string, { command_id, stream, data }: OutputFrame): void {
    const flight = this.#flights.get(command_id);
    if (flight?.record.agent_id === agentId) flight.output.take(stream, data);
  }

  /** Whether a command is under way over this link. */
  isOn(link: Link, id: string): boolean {
    return this.#flights.get(id)?.link === link;
  }

  /** Whether any command is under way over this link. */
  isBusy(link: Link): boolean {
    return this.#flights.values().some((flight) => flight.link === link);
  }

  /** Whether a result is of the verdict that this link carried, and of the output that came over it. */
  fits(link: Link, result: CommandResult, claimed: OutputDigests): boolean {
    const flight = this.#flights.get(result.command_id);
    if (flight?.link !== link) return true;
    return result.verdict === flight.verdict && flight.output.fits(result, claimed);
  }

  /** Takes a result that its agent has signed for. */
  finished(link: Link, agentId: string, result: CommandResult, receipt: Receipt): void {
    const flight = this.#flights.get(result.command_id);
    if (flight?.link === link) {
      flight.output.keep("stdout", result.stdout ?? "");
      flight.output.keep("stderr", result.stderr ?? "");
      flight.output.truncated ||= result.truncated;
      this.#settle(flight, { ...outcomeOf(result), receipt });
      return;
    }
    if (flight !== undefined && flight.record.agent_id !== agentId) return;
    // It ran while the link was down: what was, or is being, given up as lost gets its true end.
    const late = async () => {
      const taken = await settleLate(this.app(), link.tenant, agentId, result, receipt);
      if (!taken) link.refuseReceipt([result.command_id], "it is of another verdict");
    };
    (flight?.done ?? Promise.resolve()).catch(() => {}).then(late).catch((error) =>
      this.#complain("a late result could not be recorded", error)
    );
  }

  refused(agentId: string, { command_id, reason, message }: RefusedFrame): void {
    const flight = this.#flights.get(command_id);
    if (flight?.record.agent_id !== agentId) return;
    const why = `the agent refused it (${reason}): ${message}`;
    const alarm = { type: "verdict_refused", reason: why } as const;
    this.#settle(flight, { status: "failed", why, ...(reason === "unverified" && { alarm }) });
  }

  /** A link has ended: nobody knows what became of the commands on it. */
  linkLost(link: Link): void {
    for (const flight of this.#flights.values()) {
      if (flight.link === link) this.#settle(flight, { status: "lost", why: "the link broke" });
    }
  }

  /** One timer for all: ends what its agent should have ended. Its firings count, since a clock may be set. */
  #sweep(): void {
    const { clock } = this.app().ports;
    for (const flight of this.#flights.values()) {
      flight.leftMs -= SWEEP_MS;
      if (flight.leftMs > 0 || flight.settling) continue;
      flight.link.send({ type: "cancel", command_id: flight.record.id });
      this.#settle(flight, { status: "timed_out", why: "the agent did not end it in time" });
    }
    this.#timer = this.#flights.size === 0 ? null : clock.after(SWEEP_MS, () => this.#sweep());
  }

  #settle(flight: Flight, outcome: Outcome & Pick<Ending, "receipt" | "alarm">): void {
    if (flight.settling) return;
    flight.settling = true;
    flight.done.catch(() => {});
    const { output: { stdout, stderr, truncated }, verdict } = flight;
    this.#record(flight, { ...outcome, verdict, stdout, stderr, truncated }, 1);
  }

  /** Puts an end on record; while the store is away it is tried again, and the caller waits no more. */
  #record(flight: Flight, ending: Ending, attempt: number): void {
    const { tenant, record, begun, cancelledBy } = flight;
    const { id, agent_id: agentId } = record;
    // Of one that was tried before nobody knows whether it is on record.
    const fresh = !begun.stored && attempt === 1;
    const open = { id, agentId, record, fresh, cancelledBy };
    settleCommand(this.app(), tenant, open, ending, flight.inSettlement).then((settled) => {
      this.#journal.end(begun.place);
      this.#forget(flight);
      flight.resolve(settled ?? record);
    }, (error) => {
      this.#complain("the end of a command could not be recorded", error);
      flight.reject(error);
      const again = error instanceof StoreUnavailableError && attempt < RECORD_ATTEMPTS_MAX;
      if (!again) return this.#forget(flight);
      this.app().ports.clock.after(SWEEP_MS, () => this.#record(flight, ending, attempt + 1));
    });
  }

  #forget(flight: Flight): void {
    this.#flights.delete(flight.record.id);
    flight.output.drop();
  }

  #complain(message: string, error: unknown): void {
    this.app().ports.log.error(message, { error: String(error) });
  }
}
