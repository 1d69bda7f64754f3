import { until } from "../cluster/wait.ts";
import { type Carrier, WireReader } from "../support/wire.ts";
import type { Place } from "./place.ts";
import type { Job } from "./work.ts";

/** The mean of bytes after which a quick reader is cut off. */
const CUT_BYTES = 60_000;
const SLOW_BYTES = 1_024, SLOW_MS = 1_000;
/** A reader that reads nothing is gone after so long. */
const SILENT_MS = 60_000;
const AGAIN_MS = 300;
const LATE_MS = 60_000;
/** Errors of a connection that ends without a word. */
const BROKEN = /^(Connection|BrokenPipe|NotConnected|UnexpectedEof|BadResource|Interrupted)/;

/** A quick reader, which is cut off again and again, and must see every event once. */
export class QuickReader {
  readonly seen: number[] = [];
  cuts = 0;
  /** Where its first stream began. */
  from = 0;
  #last: string | null = null;
  #reading: Promise<void> | null = null;
  #wire: WireReader | null = null;
  #stopped = false;

  constructor(
    private readonly place: Place,
    readonly carrier: Carrier,
    private readonly key: string,
  ) {}

  start(): void {
    this.#reading = this.#goOn();
  }

  /** Ends it when it has seen an event of this number or a later one. @throws {Error} when none comes */
  async endAfter(seq: number): Promise<void> {
    await until(`${this.carrier} reads to ${seq}`, LATE_MS, () => (this.seen.at(-1) ?? 0) >= seq);
    await this.end();
  }

  async end(): Promise<void> {
    this.#stopped = true;
    this.#wire?.cut();
    this.#wire = null;
    await this.#reading;
  }

  async #goOn(): Promise<void> {
    const { work, dice } = this.place;
    while (!this.#stopped) {
      await work.ready();
      try {
        await this.#read(dice.unit() * 2 * CUT_BYTES);
        this.cuts++;
      } catch (error) {
        if (this.#stopped) return;
        const { name, message } = error as Error;
        // A crash of the relay cuts a stream off like anything else.
        if (!BROKEN.test(name)) work.fault("reader", message);
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
    }
  }

  async #read(bytes: number): Promise<void> {
    const { relay, work } = this.place;
    const wire = this.#wire = await WireReader.open(
      relay.port,
      this.carrier,
      this.key,
      this.#last,
    );
    try {
      while (!this.#stopped && wire.bytesRead < bytes) {
        const messages = await wire.read(bytes - wire.bytesRead);
        if (messages === null) return;
        for (const { kind, id, data } of messages) {
          if (kind === "hello" && this.#last !== null && !data.recovered) {
            work.fault("reader", `the stream did not resume after ${this.#last}`);
          }
          if (kind === "hello" && this.#last === null) this.from = seqOf(id!);
          if (kind === "event") this.seen.push(seqOf(id!));
          if (id !== null) this.#last = id;
        }
      }
    } finally {
      // Otherwise `end` has cut it.
      if (this.#wire !== null) wire.cut();
      this.#wire = null;
    }
  }
}

/** Readers that read 1 KB a second, or nothing, and come back. */
export function slowReaderJobs({ relay, work }: Place, key: string): Job[] {
  const open = async (carrier: Carrier, last: string | null) => {
    await work.ready();
    return await WireReader.open(relay.port, carrier, key, last);
  };
  const slow = (carrier: Carrier) => {
    let last: string | null = null;
    return async () => {
      const wire = await open(carrier, last).catch(gone);
      if (wire === null) return;
      try {
        while (!work.over) {
          const messages = await Promise.race([wire.read(SLOW_BYTES), work.ended]);
          if (messages === null) return;
          for (const { kind, id, data } of messages) {
            if (kind === "hello" && last !== null && !data.recovered) {
              throw new Error(`a slow stream did not resume after ${last}`);
            }
            if (id !== null) last = id;
          }
          await work.rest(SLOW_MS);
        }
      } catch (error) {
        gone(error as Error);
      } finally {
        wire.cut();
      }
    };
  };
  const silent = (carrier: Carrier) => async () => {
    const wire = await open(carrier, null).catch(gone);
    await work.rest(SILENT_MS);
    wire?.cut();
  };
  return (["sse", "ws"] as const).flatMap((carrier) => [
    { name: "slow streams", everyMs: 1_000, act: slow(carrier) },
    { name: "streams that nobody reads", everyMs: 1_000, act: silent(carrier) },
  ]);
}

/** The relay was killed, or has ended a stream that was too slow. */
function gone(error: Error): null {
  if (BROKEN.test(error.name)) return null;
  throw error;
}

const seqOf = (id: string): number => Number(id.split(":")[1]);
