import { Buffer } from "node:buffer";
import { piecesFrom } from "../../../kv/instances/output.ts";
import { agents } from "../../../kv/records/agent.ts";
import type { Store } from "../../../kv/store/store.ts";
import { type CommandRecord, isOpen } from "../../../kv/records/command.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import type { Links } from "../links/links.ts";
import { type Background, type Cancel, type Ports, within } from "../../ports/ports.ts";
import { sendMessage } from "../../work/work.ts";
import { findCommand } from "./finished.ts";
import { OutputLog } from "./output_log.ts";

/** How often the instance that runs a command is asked to go on sending. */
const RENEW_MS = 5_000;
/** How long a single read waits for another instance. */
const ANSWER_MS = 2_000;
/** Beyond this in all, mirrors take no more; their readers get the rest when the command has ended. */
const BYTES_MAX_IN_ALL = 256 * 1024 * 1024;

interface MirrorParts {
  readonly context: { readonly ports: Ports; readonly store: Store };
  readonly background: Background;
  readonly links: Pick<Links, "holder">;
  /** The id of this process. */
  readonly instance: string;
}

/** The output of a command that runs at another instance, as far as it has come here. */
export class Mirror {
  readonly log = new OutputLog();
  truncated = false;
  /** The command has ended, and its record has the rest. */
  ended = false;
  /** Called at the command's end. */
  readonly readers = new Set<() => void>();
  /** All output before this instance began to follow has come, so the command runs. */
  isSynced = false;
  readonly #synced = Promise.withResolvers<void>();
  /** Pieces are read by one reader at a time. */
  reading: Promise<void> = Promise.resolve();
  cancelRenewal: Cancel = () => {};

  constructor(readonly tenant: Tenant, readonly record: CommandRecord, readonly follow: string) {}

  /** Resolves when that is so, or the command has ended. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  caughtUp(): void {
    this.isSynced = true;
    this.#synced.resolve();
  }

  end(): void {
    if (this.ended) return;
    this.ended = true;
    this.caughtUp();
    for (const reader of this.readers) reader();
  }
}

/** Mirrors of the commands that run elsewhere and are read here. All readers of one command share one. */
export class Mirrors {
  readonly #byCommand = new Map<string, Mirror>();
  readonly #byFollow = new Map<string, Mirror>();
  #bytes = 0;

  constructor(private readonly parts: MirrorParts) {}

  /** The mirror of a command, until `close`. `ended` is called at the command's end. */
  open(tenant: Tenant, record: CommandRecord, ended: () => void): Mirror {
    const mirror = this.#byCommand.get(record.id) ?? this.#make(tenant, record);
    if (!this.#byCommand.has(record.id)) {
      this.#byCommand.set(record.id, mirror);
      this.#askAgainLater(mirror);
      this.#ask(mirror, false);
    }
    mirror.readers.add(ended);
    return mirror;
  }

  /** The output so far of a command that runs elsewhere; null when the instance that runs it does not answer. */
  async once(tenant: Tenant, record: CommandRecord): Promise<Mirror | null> {
    const { clock } = this.parts.context.ports;
    const known = this.#byCommand.get(record.id);
    const mirror = known ?? this.#make(tenant, record);
    if (known === undefined) this.#ask(mirror, true);
    const wait = () => {};
    mirror.readers.add(wait);
    const answered = await within(clock, ANSWER_MS, mirror.synced.then(() => true));
    this.close(mirror, wait);
    return answered === null ? null : mirror;
  }

  #make(tenant: Tenant, record: CommandRecord): Mirror {
    const mirror = new Mirror(tenant, record, this.parts.context.ports.entropy.id("flw"));
    this.#byFollow.set(mirror.follow, mirror);
    return mirror;
  }

  close(mirror: Mirror, ended: () => void): void {
    mirror.readers.delete(ended);
    if (mirror.readers.size > 0 || !this.#byFollow.delete(mirror.follow)) return;
    const { id } = mirror.record;
    if (this.#byCommand.get(id) === mirror) this.#byCommand.delete(id);
    mirror.cancelRenewal();
    this.#bytes -= mirror.log.bytes;
  }

  /** Pieces have come for a mirror. */
  async arrived(follow: string): Promise<void> {
    const mirror = this.#byFollow.get(follow);
    if (mirror === undefined) return;
    const reading = mirror.reading.then(() => this.#read(mirror));
    mirror.reading = reading.catch(() => {});
    await reading;
  }

  async #read(mirror: Mirror): Promise<void> {
    const { log } = mirror;
    for await (const piece of piecesFrom(this.parts.context.store, mirror.follow, log.bytes)) {
      if (!this.#byFollow.has(mirror.follow)) return;
      if (this.#bytes + piece.bytes > BYTES_MAX_IN_ALL) return;
      this.#bytes += piece.bytes;
      mirror.truncated = piece.truncated;
      for (const [stream, data] of piece.chunks) log.append(stream, data, Buffer.byteLength(data));
      if (!piece.more) mirror.caughtUp();
      if (piece.ended) mirror.end();
    }
  }

  #askAgainLater(mirror: Mirror): void {
    const { background, context: { ports, store } } = this.parts;
    mirror.cancelRenewal = ports.clock.after(RENEW_MS, () => {
      this.#askAgainLater(mirror);
      background.run("looking for the end of a followed command", async () => {
        const record = await findCommand(store, store, mirror.tenant, mirror.record.id);
        if (record === null || !isOpen(record)) mirror.end();
        else this.#ask(mirror, false);
      });
    });
  }

  /** Asks the instance that runs a command for its output: what it has now, or also what follows. */
  #ask(mirror: Mirror, once: boolean): void {
    const { follow, log, record, tenant } = mirror;
    const { background, context: { ports, store }, instance, links } = this.parts;
    background.run("following a command", async () => {
      const agent = await store.get(agents, tenant, record.agent_id);
      const holder = agent && links.holder(agent);
      // What was linked here, and does not run here, has ended.
      if (holder === null) return mirror.end();
      const message = {
        kind: "follow",
        tenant,
        command_id: record.id,
        id: follow,
        to: instance,
        from: log.bytes,
        once,
      } as const;
      await store.transact((tx) => sendMessage(ports, tx, holder, message));
    });
  }
}
