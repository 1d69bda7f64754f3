import type { Journal } from "../../../kv/store/journal.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import { type CommandRecord, commands } from "../../../kv/records/command.ts";
import { agents } from "../../../kv/records/agent.ts";
import type { Trace } from "../../../kv/store/trace.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import { StoreUnavailableError } from "../../../kv/engine/errors.ts";
import type { Link } from "../links/link.ts";
import type { Background } from "../../ports/ports.ts";
import { findCommand } from "./finished.ts";
import { approvedDigest } from "../approvals/approved.ts";
import { type PoliciesInForce, shieldInForce } from "../guard/in_force.ts";
import { insertCommand } from "./keys.ts";
import { writeJournalLine } from "./journal_line.ts";
import { mayStart } from "./start_window.ts";
import { settleCommand, type SettlementContext } from "./settle.ts";
import { commandSha256 } from "./text.ts";

const JOURNALLED_CHARS_MAX = 8 * 1024;
/** The pause between attempts to record that a command was not sent, and how often it is tried. */
const [RETRY_MS, ATTEMPTS_MAX] = [1_000, 60];

/** How a command was recorded before it was sent. */
export interface Begun {
  /** Its place in the journal of open commands. */
  readonly place: string;
  /** True when it has a row. */
  readonly stored: boolean;
  /** The digest that people approved, if they did. */
  readonly approvedSha256?: string;
}

/** A queued command that this process claimed. */
export interface Taken {
  readonly record: CommandRecord;
  readonly begun: Begun;
}

/** Makes a queued command ready to be sent in the transaction that claims it; null when it may not be. */
export type Turn = (
  tx: Tx,
  queued: CommandRecord,
) => CommandRecord | null | Promise<CommandRecord | null>;

const ready: Turn = (_, queued) => queued;

/** A command whose row is being written, for requests that find the row before its writer returns. */
interface Beginning {
  readonly end: PromiseWithResolvers<CommandRecord>;
  readonly started: PromiseWithResolvers<void>;
  cancelledBy: string | null;
}

/** Whether a link is its agent's newest; a sole writer knows that it is. */
async function isNewest(tx: Tx, tenant: Tenant, { agent }: Link): Promise<boolean> {
  if (agent === null) return false;
  if (tx.store.sole) return true;
  const now = await tx.get(agents, tenant, agent.id);
  return now !== null && now.instance === agent.instance && now.link === agent.link;
}

/** The commands that are being recorded as running, so that they may be sent. */
export class Beginnings {
  readonly #all = new Map<string, Beginning>();

  constructor(
    private readonly parts: {
      readonly context: SettlementContext;
      readonly background: Background;
      readonly policies: PoliciesInForce;
    },
    private readonly journal: Journal,
  ) {}

  /**
   * Records a command as running, so that it may be sent. A short command of a store with one writer gets only
   * a journal line; any other gets its row at once. Null when the link is no longer the agent's newest.
   * @throws {DuplicateError} when another command has its Idempotency-Key
   * @throws {Fault} CONFLICT when a fleet command has it
   */
  async begin(
    tenant: Tenant,
    record: CommandRecord,
    link: Link,
    trace: Trace | null,
  ): Promise<Begun | null> {
    const { store } = this.parts.context;
    if (
      store.sole && record.idempotency === null && record.command.length <= JOURNALLED_CHARS_MAX
    ) {
      const place = await this.journal.begin(writeJournalLine(tenant, record), trace);
      return { place, stored: false };
    }
    let place = "";
    const begun = await this.#write(
      tenant,
      record.id,
      async (tx) => {
        // The row is checked to be absent, so that this commit cannot succeed after the command was given up.
        const [newest, row] = await Promise.all([
          isNewest(tx, tenant, link),
          store.sole ? null : tx.get(commands, tenant, record.id),
        ]);
        if (!newest || row !== null) return null;
        await insertCommand(tx, tenant, record);
        const text = writeJournalLine(tenant, { ...record, command: "" });
        this.journal.beginIn(tx, text, (at) => place = at);
        return record;
      },
      () => this.#endUnsent(tenant, record.id, record.agent_id, record),
      trace,
    );
    return begun && { place, stored: true };
  }

  /**
   * Claims a queued command, so that no other process sends it. Null when it is no longer queued, when the link is no
   * longer the agent's newest, or when the shield's settings changed since a command without approval was judged.
   * `turn` makes a command of a fleet command ready.
   */
  async take(
    tenant: Tenant,
    id: string,
    link: Link,
    turn: Turn = ready,
  ): Promise<Taken | null> {
    let place = "", approved = "";
    const { ports } = this.parts.context;
    const claim = ports.entropy.id("clm");
    const record = await this.#write(tenant, id, async (tx) => {
      const [queued, newest, shield] = await Promise.all([
        tx.get(commands, tenant, id).then((row) => row && turn(tx, row)),
        isNewest(tx, tenant, link),
        shieldInForce(tx, tenant),
      ]);
      const now = ports.clock.now();
      if (queued?.status !== "queued" || !newest || !mayStart(queued, now)) return null;
      if (queued.approval_id === null) {
        if (shield.version !== queued.policy_version) return null;
        approved = commandSha256(queued.command);
      } else {
        approved = await approvedDigest(
          this.parts.context,
          this.parts.policies,
          tx,
          tenant,
          queued,
        );
      }
      const taken = {
        ...queued,
        status: "running",
        claim,
        start_before_ms: null,
        started_at_ms: now,
      } as const;
      this.journal.beginIn(
        tx,
        writeJournalLine(tenant, { ...taken, command: "" }),
        (at) => place = at,
      );
      return tx.put(commands, tenant, taken);
    }, () => this.#release(tenant, id, claim));
    return record && { record, begun: { place, stored: true, approvedSha256: approved } };
  }

  /** The end of a command that is being recorded, or undefined. */
  waitFor(id: string): Promise<CommandRecord> | undefined {
    return this.#all.get(id)?.end.promise;
  }

  /** Resolves when a command that is being recorded starts; never when it does not start. */
  whenStarted(id: string): Promise<void> | undefined {
    return this.#all.get(id)?.started.promise;
  }

  /** Remembers who cancels a command that is being recorded; false for any other. */
  cancel(id: string, by: string): boolean {
    const beginning = this.#all.get(id);
    if (beginning !== undefined) beginning.cancelledBy ??= by;
    return beginning !== undefined;
  }

  /** A recorded command starts. Returns who cancelled it meanwhile. */
  started(id: string, end: Promise<CommandRecord>): string | null {
    const beginning = this.#all.get(id);
    this.#all.delete(id);
    beginning?.end.resolve(end);
    beginning?.started.resolve();
    return beginning?.cancelledBy ?? null;
  }

  /** Writes that a command runs. When the store's answer is lost, the command is not sent, and `giveUp` ends it. */
  async #write(
    tenant: Tenant,
    id: string,
    write: (tx: Tx) => Promise<CommandRecord | null>,
    giveUp: () => Promise<unknown>,
    trace: Trace | null = null,
  ): Promise<CommandRecord | null> {
    if (this.#all.has(id)) return null; // an earlier claim of this process is under way
    const { store } = this.parts.context;
    const end = Promise.withResolvers<CommandRecord>();
    end.promise.catch(() => {});
    this.#all.set(id, { end, started: Promise.withResolvers(), cancelledBy: null });
    try {
      const written = await store.transact(write, trace);
      if (written === null) {
        this.#all.delete(id);
        end.resolve(findCommand(store, store, tenant, id).then(mustBeThere));
      }
      return written;
    } catch (error) {
      this.#all.delete(id);
      end.reject(error);
      if (error instanceof StoreUnavailableError && !store.sole) this.#tryGivingUp(giveUp, 1);
      throw error;
    }
  }

  #tryGivingUp(giveUp: () => Promise<unknown>, attempt: number): void {
    const { background, context: { ports } } = this.parts;
    background.run("ending a command that was not sent", () =>
      giveUp().then(() => {}, (error) => {
        if (!(error instanceof StoreUnavailableError) || attempt >= ATTEMPTS_MAX) throw error;
        ports.clock.after(RETRY_MS, () => this.#tryGivingUp(giveUp, attempt + 1));
      }));
  }

  /** Ends a command that was begun here and not sent, whether or not its row was written. */
  #endUnsent(tenant: Tenant, id: string, agentId: string, record: CommandRecord | null) {
    const why = "the store did not answer in time, so it was not sent; it is safe to ask again";
    const open = { id, agentId, record, fresh: false, from: ["running"] } as const;
    return settleCommand(this.parts.context, tenant, open, { status: "failed", why });
  }

  /** Ends a command if this claim of it was written. If it was not, it never will be, and the command stays queued. */
  async #release(tenant: Tenant, id: string, claim: string): Promise<void> {
    const row = await this.parts.context.store.transact(async (tx) => {
      const row = await tx.get(commands, tenant, id);
      // A claim that is still on its way fails its check of the row.
      if (row?.status === "queued") tx.put(commands, tenant, row);
      return row;
    });
    if (row?.status !== "running" || row.claim !== claim) return;
    await this.#endUnsent(tenant, id, row.agent_id, null);
  }
}

/** @throws {Error} for a command that was deleted meanwhile */
function mustBeThere(record: CommandRecord | null): CommandRecord {
  if (record === null) throw new Error("a command that was being claimed has no record");
  return record;
}
