import { PIECE_BYTES_MAX, stagePiece } from "../../../kv/instances/output.ts";
import type { Store } from "../../../kv/store/store.ts";
import { isOpen } from "../../../kv/records/command.ts";
import type { Background, Cancel, Ports } from "../../ports/ports.ts";
import { type Message, sendMessage } from "../../work/work.ts";
import { findCommand } from "./finished.ts";
import { offsetAfter, OutputLog } from "./output_log.ts";
import type { RunningCommands } from "./running_commands.ts";

/** The least time between two pieces for one instance. */
const INTERVAL_MS = 25;
/** How often a command that does not run here is looked for: as long as it may wait for its claim. */
const [LOOKS_MAX, LOOK_MS] = [200, 25];
/** The time between attempts to write a piece. */
const RETRY_MS = 1_000;
/** How long an instance is sent output after it last asked; it asks every 5 s while somebody reads there. */
const LEASE_MS = 15_000;

type Follow = Extract<Message, { kind: "follow" }>;

interface RemoteReaderParts {
  readonly context: { readonly ports: Ports; readonly store: Store };
  readonly background: Background;
  readonly commands: RunningCommands;
}

/** Other instances that read the output of commands that run here. Each gets it in pieces through the store. */
export class RemoteReaders {
  readonly #all = new Map<string, { cancelLease: Cancel; readonly stop: () => void }>();

  constructor(private readonly parts: RemoteReaderParts) {}

  /** Sends another instance the output of a command until it ends, or until that instance no longer asks. */
  serve(follow: Follow): void {
    const { ports: { clock } } = this.parts.context;
    const known = this.#all.get(follow.id);
    known?.cancelLease();
    const cancelLease = clock.after(LEASE_MS, () => this.#all.get(follow.id)?.stop());
    if (known !== undefined) {
      known.cancelLease = cancelLease;
      return;
    }
    const sender = new PieceSender(this.parts, follow, () => {
      this.#all.get(follow.id)?.cancelLease();
      this.#all.delete(follow.id);
    });
    this.#all.set(follow.id, { cancelLease, stop: () => sender.stop() });
    sender.start(LOOKS_MAX);
  }
}

/** Sends one instance the output of one command, piece after piece. */
class PieceSender {
  #position: number;
  #log: OutputLog | null = null;
  #truncated = () => false;
  #unfollow = () => {};
  #cancel: Cancel = () => {};
  /** A piece is being written, or was written less than INTERVAL_MS ago. */
  #busy = false;
  /** Something has happened since the last piece was made. */
  #dirty = false;
  #ended = false;
  /** The command is being recorded, and its start is awaited. */
  #awaitsStart = false;
  #stopped = false;

  constructor(
    private readonly parts: RemoteReaderParts,
    private readonly follow: Follow,
    private readonly onStop: () => void,
  ) {
    this.#position = follow.from;
  }

  /** Messages may overtake each other: the one that hands the command over may come after the one that asks. */
  start(looks: number): void {
    if (this.#stopped) return;
    const { commands, context: { ports } } = this.parts;
    const { tenant, command_id } = this.follow;
    const running = commands.outputOf(tenant, command_id);
    if (running === null) {
      if (looks === LOOKS_MAX) this.#lookForRecord();
      if (looks === 0) return this.stop();
      const again = () => {
        if (this.#log !== null) return;
        this.#cancel();
        this.start(looks - 1);
      };
      this.#cancel = ports.clock.after(LOOK_MS, again);
      if (!this.#awaitsStart && commands.waitFor(command_id) !== undefined) {
        this.#awaitsStart = true;
        commands.whenStarted(command_id).then(again);
      }
      return;
    }
    this.#truncated = () => running.truncated;
    this.#log = running.log;
    this.#unfollow = running.log.onGrowth(() => this.#wake());
    const end = () => {
      this.#ended = true;
      this.#wake();
    };
    commands.waitFor(command_id)!.then(end, end);
    this.#send();
  }

  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#cancel();
    this.#unfollow();
    this.onStop();
  }

  /** A command may have ended before its follower asked. One that has not begun has no output so far. */
  #lookForRecord(): void {
    const { background, context: { store } } = this.parts;
    const { tenant, command_id } = this.follow;
    background.run("looking for a followed command", async () => {
      const record = await findCommand(store, store, tenant, command_id);
      const ended = record !== null && !isOpen(record);
      if (this.#log !== null || this.#stopped || !ended && !this.follow.once) return;
      this.#cancel();
      this.#log = new OutputLog();
      this.#ended = ended;
      this.#send();
    });
  }

  #wake(): void {
    if (this.#busy) this.#dirty = true;
    else this.#send();
  }

  #send(): void {
    if (this.#stopped) return;
    this.#busy = true;
    this.#dirty = false;
    const log = this.#log!, offset = this.#position;
    const chunks = log.read(offset, PIECE_BYTES_MAX);
    const next = offsetAfter(offset, chunks);
    const more = next < log.bytes;
    const ended = this.#ended && !more;
    this.#write(offset, {
      chunks: chunks.map(({ stream, data }) => [stream, data] as const),
      bytes: next - offset,
      more,
      truncated: this.#truncated(),
      ended,
    }, () => {
      this.#position = next;
      if (ended || !more && this.follow.once) return this.stop();
      if (more) return this.#send();
      const rest = () => {
        this.#busy = false;
        if (this.#dirty) this.#wake();
      };
      if (chunks.length === 0) return rest();
      this.#cancel = this.parts.context.ports.clock.after(INTERVAL_MS, rest);
    });
  }

  /** Writes a piece until that succeeds. It stays the same, because it may have been written and read. */
  #write(offset: number, piece: Parameters<typeof stagePiece>[3], then: () => void): void {
    const { background, context: { ports, store } } = this.parts;
    const { id, to } = this.follow;
    background.run("sending output to another instance", () =>
      store.transact((tx) => {
        stagePiece(tx, id, offset, piece);
        sendMessage(ports, tx, to, { kind: "output", id });
      }).then(() => this.#stopped || then(), (error) => {
        if (!this.#stopped) {
          const again = () => this.#write(offset, piece, then);
          this.#cancel = ports.clock.after(RETRY_MS, again);
        }
        throw error;
      }));
  }
}
