import { type Tenant, tenantKey } from "../../../kv/store/collection.ts";
import { Journal } from "../../../kv/store/journal.ts";
import { ChurnMap } from "../../../kv/store/churn_map.ts";
import type { Span, Trace } from "../../../kv/store/trace.ts";
import type { CommandRecord } from "../../../kv/records/command.ts";
import { StoreUnavailableError } from "../../../kv/engine/errors.ts";
import type { CommandListener, Link, Receipt } from "../links/link.ts";
import type { Background, Cancel } from "../../ports/ports.ts";
import type {
  CommandOrder,
  CommandResult,
  OutputDigests,
  OutputFrame,
  RefusedFrame,
} from "../../protocol/protocol.ts";
import { Beginnings, type Begun, type Taken, type Turn } from "./beginnings.ts";
import type { PoliciesInForce } from "../guard/in_force.ts";
import { OUTPUT_BYTES_MAX, RunningOutput } from "./running_output.ts";
import { commandSha256 } from "./text.ts";
import {
  type Ending,
  type InSettlement,
  type Outcome,
  outcomeOf,
  settleCommand,
  settleLate,
  type SettlementContext,
} from "./settle.ts";

/** The agent ends a command at its timeout; if it does not report that in this time, the relay ends it. */
const GRACE_MS = 5_000;
const SWEEP_MS = 1_000;
/** A minute of attempts; after that the journal of open commands keeps it for the next start. */
const RECORD_ATTEMPTS_MAX = 60;
/** Each process keeps its journal of open commands under this prefix and its own name. */
export const JOURNAL = "commands/";

/** A command that runs over a link of this process. */
interface Running {
  readonly tenant: Tenant;
  readonly record: CommandRecord;
  readonly link: Link;
  readonly begun: Begun;
  readonly inSettlement: InSettlement;
  readonly done: Promise<CommandRecord>;
  readonly resolve: (record: CommandRecord) => void;
  readonly reject: (error: unknown) => void;
  /** Time until the relay ends it, unless the agent reports its end. */
  leftMs: number;
  /** The verdict under which it was sent; null until then. */
  verdict: string | null;
  readonly output: RunningOutput;
  cancelledBy: string | null;
  settling: boolean;
  /** From its order to its end; null when the request is not traced. */
  readonly span: Span<"agent round trip"> | null;
}

/** What running commands use. */
interface RunningParts {
  readonly context: SettlementContext;
  readonly background: Background;
  readonly policies: PoliciesInForce;
  /** The id of this process. */
  readonly instance: string;
}

/** The commands that run over this process's links. */
export class RunningCommands implements CommandListener {
  readonly #all = new ChurnMap<Running>();
  readonly #beginnings: Beginnings;
  readonly #journal: Journal;
  readonly #written = { bytes: 0 };
  #timer: Cancel | null = null;

  constructor(private readonly parts: RunningParts) {
    this.#journal = new Journal(parts.context.store, `${JOURNAL}${parts.instance}`, (error) => {
      this.#logError("ended commands could not be deleted from the journal", error);
    });
    this.#beginnings = new Beginnings(parts, this.#journal);
  }

  /**
   * Records a command as running, so that it may be sent. Null when the link is no longer the agent's newest.
   * @throws {DuplicateError} when another command has its Idempotency-Key
   */
  begin(
    tenant: Tenant,
    record: CommandRecord,
    link: Link,
    trace: Trace | null,
  ): Promise<Begun | null> {
    return this.#beginnings.begin(tenant, record, link, trace);
  }

  /** Claims a queued command, so that no other process sends it; null when it may not be sent here. */
  take(tenant: Tenant, id: string, link: Link, turn?: Turn): Promise<Taken | null> {
    return this.#beginnings.take(tenant, id, link, turn);
  }

  /** A command that runs here, as it was begun. */
  running(tenant: Tenant, id: string): CommandRecord | null {
    const running = this.#all.get(id);
    return running !== undefined && tenantKey(running.tenant) === tenantKey(tenant)
      ? running.record
      : null;
  }

  /** The commands that run here and have no row, newest first. */
  withoutRow(tenant: Tenant): CommandRecord[] {
    const owner = tenantKey(tenant);
    return [...this.#all.values()]
      .filter(({ begun, tenant: of }) => !begun.stored && tenantKey(of) === owner)
      .map(({ record }) => record)
      .sort((a, b) => a.id < b.id ? 1 : -1);
  }

  get size(): number {
    return this.#all.size;
  }

  /** Sends a command that is recorded as running. `inSettlement` may add to the commit of its end. */
  start(
    tenant: Tenant,
    record: CommandRecord,
    begun: Begun,
    link: Link,
    inSettlement: InSettlement = () => {},
  ): Promise<CommandRecord> {
    const { promise, resolve, reject } = Promise.withResolvers<CommandRecord>();
    const { tracing } = this.parts.context.ports;
    const span = tracing?.resume(record.traceparent)?.child("agent round trip", {
      "relay.agent_id": record.agent_id,
      "relay.command_id": record.id,
    }) ?? null;
    const running: Running = {
      tenant,
      record,
      begun,
      link,
      inSettlement,
      done: promise,
      resolve,
      reject,
      // The timer may fire at once.
      leftMs: record.timeout_ms + GRACE_MS + (this.#timer === null ? 0 : SWEEP_MS),
      verdict: null,
      output: new RunningOutput(this.#written),
      cancelledBy: null,
      settling: false,
      span,
    };
    this.#all.set(record.id, running);
    const cancelledBy = this.#beginnings.started(record.id, promise);
    const sha256 = commandSha256(record.command);
    const { approvedSha256 = sha256 } = begun;
    if (sha256 !== approvedSha256) {
      const why = "it differs from the approved command, so it was not sent";
      const alarm = { type: "approval_mismatch", reason: why } as const;
      this.#settle(running, { status: "failed", why, alarm });
      return promise;
    }
    const order: CommandOrder = {
      command_id: record.id,
      command: record.command,
      timeout_ms: record.timeout_ms,
      max_output_bytes: OUTPUT_BYTES_MAX,
      policy_version: record.policy_version,
      ...span?.carried,
    };
    if (link.run({ order, sha256 })) {
      this.#timer ??= this.parts.context.ports.clock.after(SWEEP_MS, () => this.#sweep());
      if (cancelledBy !== null) this.cancel(record.id, cancelledBy);
    } else this.unsent(record.id);
    return promise;
  }

  sent(id: string, verdict: string): void {
    const running = this.#all.get(id);
    if (running === undefined) return;
    running.verdict = verdict;
    const { tenant, record: command } = running;
    this.parts.context.signals.commandStarted.send({ tenant, command });
  }

  unsent(id: string): void {
    const running = this.#all.get(id);
    const why = "its link was not usable, so it was not sent";
    if (running !== undefined) this.#settle(running, { status: "failed", why });
  }

  /** Resolves when the ends of all commands are recorded and the journal of open commands is empty. */
  async stop(): Promise<void> {
    this.#timer?.();
    await Promise.allSettled(this.#all.values().map((running) => running.done));
    await this.#journal.stop();
  }

  /** The end of a command that runs here, or undefined. */
  waitFor(id: string): Promise<CommandRecord> | undefined {
    return this.#all.get(id)?.done ?? this.#beginnings.waitFor(id);
  }

  /** The output so far of a command that runs here; null for any other. */
  outputOf(tenant: Tenant, id: string): RunningOutput | null {
    return this.running(tenant, id) === null ? null : this.#all.get(id)!.output;
  }

  /** Resolves when a command that `waitFor` knows runs; never when it does not start. */
  async whenStarted(id: string): Promise<void> {
    await this.#beginnings.whenStarted(id);
  }

  /** Asks the agent to end a command, once it was sent; false when it does not run here. */
  cancel(id: string, by: string): boolean {
    const running = this.#all.get(id);
    if (running === undefined) return this.#beginnings.cancel(id, by);
    running.cancelledBy ??= by;
    return running.link.send({ type: "cancel", command_id: id });
  }

  output(agentId: string, { command_id, stream, data }: OutputFrame): void {
    const running = this.#all.get(command_id);
    if (running?.record.agent_id === agentId) running.output.take(stream, data);
  }

  isOn(link: Link, id: string): boolean {
    return this.#all.get(id)?.link === link;
  }

  isBusy(link: Link): boolean {
    return this.#all.values().some((running) => running.link === link);
  }

  fits(link: Link, result: CommandResult, claimed: OutputDigests): boolean {
    const running = this.#all.get(result.command_id);
    if (running?.link !== link) return true;
    return result.verdict === running.verdict && running.output.fits(result, claimed);
  }

  finished(link: Link, agentId: string, result: CommandResult, receipt: Receipt): void {
    const running = this.#all.get(result.command_id);
    if (running?.link === link) {
      running.output.keep("stdout", result.stdout ?? "");
      running.output.keep("stderr", result.stderr ?? "");
      if (!running.output.sealed) running.output.truncated ||= result.truncated;
      this.#settle(running, { ...outcomeOf(result), receipt });
      return;
    }
    if (running !== undefined && running.record.agent_id !== agentId) return;
    // It ran while the link was down: its result replaces its recorded end, or the one being recorded.
    const { background, context } = this.parts;
    background.run("recording a late result", async () => {
      await running?.done.catch(() => {});
      const taken = await settleLate(context, link.tenant, agentId, result, receipt);
      if (!taken) link.refuseReceipt([result.command_id], "it belongs to another verdict");
    });
  }

  refused(agentId: string, { command_id, reason, message }: RefusedFrame): void {
    const running = this.#all.get(command_id);
    if (running?.record.agent_id !== agentId) return;
    const why = `the agent refused it (${reason}): ${message}`;
    const alarm = { type: "verdict_refused", reason: why } as const;
    this.#settle(running, { status: "failed", why, ...(reason === "unverified" && { alarm }) });
  }

  /** A link has closed: the outcome of the commands on it is unknown. */
  linkLost(link: Link): void {
    for (const running of this.#all.values()) {
      if (running.link === link) this.#settle(running, { status: "lost", why: "the link broke" });
    }
  }

  /** Ends the commands that their agents should have ended. Counts firings, because the clock may jump. */
  #sweep(): void {
    const { clock } = this.parts.context.ports;
    for (const running of this.#all.values()) {
      running.leftMs -= SWEEP_MS;
      if (running.leftMs > 0 || running.settling) continue;
      running.link.send({ type: "cancel", command_id: running.record.id });
      this.#settle(running, { status: "timed_out", why: "the agent did not end it in time" });
    }
    this.#timer = this.#all.size === 0 ? null : clock.after(SWEEP_MS, () => this.#sweep());
  }

  #settle(running: Running, outcome: Outcome & Pick<Ending, "receipt" | "alarm">): void {
    if (running.settling) return;
    running.settling = true;
    running.span?.end({ "relay.command_status": outcome.status });
    running.done.catch(() => {});
    running.output.sealed = true;
    const { output: { log, truncated }, verdict } = running;
    const [stdout, stderr] = [log.text("stdout"), log.text("stderr")];
    const turns = log.turns();
    this.#record(running, { ...outcome, verdict, stdout, stderr, turns, truncated }, 1);
  }

  /** Records an end. While the store is unavailable it tries again, and the caller no longer waits. */
  #record(running: Running, ending: Ending, attempt: number): void {
    const { tenant, record, begun, cancelledBy } = running;
    const { id, agent_id: agentId } = record;
    // A failed attempt may have written the row.
    const fresh = !begun.stored && attempt === 1;
    const open = { id, agentId, record, fresh, cancelledBy };
    settleCommand(this.parts.context, tenant, open, ending, running.inSettlement).then(
      (settled) => {
        this.#journal.end(begun.place);
        this.#forget(running);
        running.resolve(settled ?? record);
      },
      (error) => {
        const { request_id } = record;
        this.#logError("the end of a command could not be recorded", error, { request_id });
        running.reject(error);
        const again = error instanceof StoreUnavailableError && attempt < RECORD_ATTEMPTS_MAX;
        if (!again) return this.#forget(running);
        this.parts.context.ports.clock.after(
          SWEEP_MS,
          () => this.#record(running, ending, attempt + 1),
        );
      },
    );
  }

  #forget(running: Running): void {
    this.#all.delete(running.record.id);
    running.output.drop();
  }

  #logError(message: string, error: unknown, ids: { readonly request_id?: string } = {}): void {
    this.parts.context.ports.log.error(message, { ...ids, error: String(error) });
  }
}
