import { type CommandRecord, isOpen } from "../../../kv/records/command.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import type { Store } from "../../../kv/store/store.ts";
import type { Links } from "../links/links.ts";
import type { Background, Ports } from "../../ports/ports.ts";
import { findCommand } from "./finished.ts";
import { type Mirror, Mirrors } from "./mirrors.ts";
import { outputOf } from "./output.ts";
import { offsetAfter, type OutputChunk, OutputLog } from "./output_log.ts";
import { RemoteReaders } from "./remote_readers.ts";
import type { RunningCommands } from "./running_commands.ts";

/** How often a reader looks again, for a command that waits for approval or whose end could not be recorded. */
const LOOK_MS = 1_000;

interface LiveOutputParts {
  readonly context: { readonly ports: Ports; readonly store: Store };
  readonly background: Background;
  readonly commands: RunningCommands;
  readonly links: Pick<Links, "holder">;
  /** The id of this process. */
  readonly instance: string;
}

/** A part of a command's output, and the command's state when it was read. */
export interface OutputRange {
  readonly chunks: readonly OutputChunk[];
  /** The offset after the chunks. */
  readonly next: number;
  readonly record: CommandRecord;
  /** True when output was left out so far. */
  readonly truncated: boolean;
  /** True when the command has ended and nothing follows the chunks. */
  readonly complete: boolean;
}

/**
 * The output of commands, at whichever instance they run. The agent's instance has it in memory and writes pieces to
 * the store only while somebody elsewhere reads. After the end it is read from the command's record.
 */
export class LiveOutput {
  readonly #mirrors: Mirrors;
  readonly remoteReaders: RemoteReaders;
  /** Readers of commands that have not started, by the command. */
  readonly #expectant = new Map<string, Set<() => void>>();

  constructor(private readonly parts: LiveOutputParts) {
    this.#mirrors = new Mirrors(parts);
    this.remoteReaders = new RemoteReaders(parts);
  }

  /** Pieces of output have come from another instance. */
  arrived(follow: string): Promise<void> {
    return this.#mirrors.arrived(follow);
  }

  /** A command was sent to its agent. */
  started(id: string): void {
    this.#expectant.get(id)?.forEach((wake) => wake());
  }

  /** Reads a command's output piece by piece; the caller closes the reader. */
  reader(tenant: Tenant, id: string): OutputReader {
    return new OutputReader(this.parts, this.#mirrors, this.#expectant, tenant, id);
  }

  /** Calls `listener` with the past and future output of a running command; returns how to stop. */
  follow(tenant: Tenant, record: CommandRecord, listener: (text: string) => void): () => void {
    const running = this.parts.commands.outputOf(tenant, record.id);
    if (running !== null) return drain(running.log, listener);
    if (this.parts.context.store.sole || !isSent(record)) return () => {};
    const ended = () => {};
    const mirror = this.#mirrors.open(tenant, record, ended);
    const stop = drain(mirror.log, listener);
    return () => {
      stop();
      this.#mirrors.close(mirror, ended);
    };
  }

  /** The output so far of a command that has not ended; null when the instance that runs it does not answer. */
  async soFar(
    tenant: Tenant,
    record: CommandRecord,
  ): Promise<OutputSoFar | null> {
    const { commands, context: { store } } = this.parts;
    const running = commands.outputOf(tenant, record.id);
    if (running !== null) return running;
    const beginsHere = commands.waitFor(record.id) !== undefined;
    return store.sole || record.status !== "running" || beginsHere
      ? { log: new OutputLog(), truncated: false }
      : await this.#mirrors.once(tenant, record);
  }

  /**
   * At most `bytesMax` bytes of a command's output from an offset on, as it is now; null when the instance that runs
   * the command does not answer.
   */
  async read(
    tenant: Tenant,
    record: CommandRecord,
    from: number,
    bytesMax: number,
  ): Promise<OutputRange | null> {
    const { store } = this.parts.context;
    const live = isOpen(record) ? await this.soFar(tenant, record) : null;
    if (live !== null && !live.ended) return rangeOf(record, live, from, bytesMax);
    const now = isOpen(record) ? await findCommand(store, store, tenant, record.id) : record;
    return now === null || isOpen(now)
      ? null
      : await recordedRange(store, tenant, now, from, bytesMax);
  }
}

/** Calls `listener` with what a log holds and gets. */
function drain(log: OutputLog, listener: (text: string) => void): () => void {
  let position = 0;
  const take = () => {
    while (position < log.bytes) {
      const chunks = log.read(position, log.bytes - position);
      position = offsetAfter(position, chunks);
      for (const { data } of chunks) listener(data);
    }
  };
  take();
  return log.onGrowth(take);
}

/** True for a command that runs at its agent's instance, or that was handed over to it. */
const isSent = ({ status, approval_id, start_before_ms }: CommandRecord) =>
  status === "running" ||
  status === "queued" && approval_id === null && start_before_ms !== null;

/** The output so far of a command that has not ended. */
export interface OutputSoFar {
  readonly log: OutputLog;
  readonly truncated: boolean;
  /** True when the command has ended meanwhile, and its record has the output. */
  readonly ended?: boolean;
}

/** One reader of a command's output, from before its start to its recorded end. */
export class OutputReader {
  #log: OutputLog | null = null;
  #mirror: Mirror | null = null;
  #stopListening = () => {};
  #woken = false;
  #closed = false;
  #resume: (() => void) | null = null;

  constructor(
    private readonly parts: LiveOutputParts,
    private readonly mirrors: Mirrors,
    private readonly expectant: Map<string, Set<() => void>>,
    private readonly tenant: Tenant,
    private readonly id: string,
  ) {
    this.expectant.set(id, (this.expectant.get(id) ?? new Set()).add(this.#wake));
  }

  /** At most `bytesMax` bytes from an offset on; null when there is no such command any more. */
  async read(from: number, bytesMax: number): Promise<OutputRange | null> {
    const { commands, context: { store } } = this.parts;
    const { id, tenant } = this;
    this.#woken = false;
    const running = commands.outputOf(tenant, id);
    if (running !== null) {
      if (this.#listenTo(running.log)) commands.waitFor(id)!.then(this.#wake, this.#wake);
      return rangeOf(commands.running(tenant, id)!, running, from, bytesMax);
    }
    if (this.#mirror !== null && !this.#mirror.ended) {
      const { isSynced, record } = this.#mirror;
      const now = isSynced ? { ...record, status: "running" as const } : record;
      return rangeOf(now, this.#mirror, from, bytesMax);
    }
    const record = await findCommand(store, store, tenant, id);
    if (record === null || this.#closed) return null;
    if (!isOpen(record)) return await recordedRange(store, tenant, record, from, bytesMax);
    if (!store.sole && isSent(record) && this.#mirror === null) {
      this.#mirror = this.mirrors.open(tenant, record, this.#wake);
      this.#listenTo(this.#mirror.log);
      return rangeOf(record, this.#mirror, from, bytesMax);
    }
    return { chunks: [], next: from, record, truncated: false, complete: false };
  }

  /** Resolves when there may be more to read, and after LOOK_MS. */
  async changed(): Promise<void> {
    if (this.#woken) return;
    const cancel = this.parts.context.ports.clock.after(LOOK_MS, this.#wake);
    await new Promise<void>((resolve) => this.#resume = resolve);
    cancel();
  }

  /** Ends the reading; a wait for changes returns. */
  close(): void {
    this.#closed = true;
    this.#stopListening();
    if (this.#mirror !== null) this.mirrors.close(this.#mirror, this.#wake);
    const expectant = this.expectant.get(this.id);
    expectant?.delete(this.#wake);
    if (expectant?.size === 0) this.expectant.delete(this.id);
    this.#wake();
  }

  readonly #wake = (): void => {
    this.#woken = true;
    this.#resume?.();
  };

  /** Wakes when a log grows; false when it listens to that one already. */
  #listenTo(log: OutputLog): boolean {
    if (this.#log === log) return false;
    this.#stopListening();
    this.#log = log;
    this.#stopListening = log.onGrowth(this.#wake);
    return true;
  }
}

async function recordedRange(
  store: Store,
  tenant: Tenant,
  record: CommandRecord,
  from: number,
  bytesMax: number,
): Promise<OutputRange> {
  const log = OutputLog.of(await outputOf(store, tenant, record));
  return rangeOf(record, { log, truncated: record.truncated }, from, bytesMax);
}

function rangeOf(
  record: CommandRecord,
  { log, truncated }: OutputSoFar,
  from: number,
  bytesMax: number,
): OutputRange {
  const chunks = log.read(from, bytesMax);
  const after = offsetAfter(from, chunks);
  const complete = !isOpen(record) && after >= log.bytes;
  // A crash of the relay may have lost output that a reader has seen.
  return { chunks, next: complete ? log.bytes : after, record, truncated, complete };
}
