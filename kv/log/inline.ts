import { type Check, checkOf, deleteKey, type Mutation } from "../store/change.ts";
import type { Tenant } from "../store/collection.ts";
import type { SequencingLimits, TenantEvents } from "./sequencing.ts";
import { type Line, OUTBOX } from "./line.ts";
import { KEY_OVERHEAD_BYTES } from "../store/load.ts";
import { setPending } from "./pending.ts";
import type { Capacity, InlineSequence } from "./sequencer.ts";
import { segmentKey, setSegment } from "./segments.ts";

/** A row of the outbox that this process committed. */
interface Row {
  readonly versionstamp: string;
  readonly lines: readonly Line[];
}

/** The new events and segments of one tenant's log. */
interface Growth extends TenantEvents {
  readonly owner: string;
  readonly types: Set<string>;
  /** Full segments; the fields below describe the segment that is being filled. */
  readonly full: Mutation[];
  first: number;
  text: string;
  bytes: number;
}

/** What inline sequencing needs of the log. */
export interface Log {
  /** The number of a tenant's newest event, or undefined when it must be read. */
  readonly head: (owner: string) => number | undefined;
  /** The followers that want one of these types of events. */
  readonly wanting: (types: Iterable<string>, tenant: Tenant) => Iterable<string>;
  /** Called when these events have their numbers, or may have them when not `certain`. */
  readonly sequenced: (batches: readonly TenantEvents[], certain: boolean) => void;
}

/** Lines in the outbox that may still join a later commit. */
const WAITING_BYTES_MAX = 256 * 1024;

/**
 * Numbers events in the commit that brings them, when they suffice for a segment. They are then written once,
 * and no batch has to read and move them. Only the store's sole writer may do so, while no
 * batch runs and memory knows every row of the outbox; those rows come first and join the commit.
 */
export class InlineSequencing {
  #open = false;
  /** Outbox rows since the last batch began to read; null when memory does not know them all. */
  #rows: Row[] | null = null;
  #bytes = 0;
  /** Tenants whose logs got an inline segment since the last batch, so their ends are known. */
  readonly #proven = new Set<string>();
  /** True when `#rows` is null because a few tenants had too many lines. */
  #crowded = false;
  #inFlight: PromiseWithResolvers<void> | null = null;

  constructor(private readonly log: Log, private readonly limits: SequencingLimits) {}

  /**
   * True when a batch would find nothing. It first waits for the inline commit in flight: a reader that saw
   * its events must not meet a head below them.
   */
  async nothingWaits(): Promise<boolean> {
    await this.#inFlight?.promise;
    return this.#open && this.#rows?.length === 0;
  }

  /** Stops inline sequencing until `resume`, before a batch reads the outbox. */
  async pause(): Promise<void> {
    this.#open = false;
    await this.#inFlight?.promise;
    this.#rows = [];
    this.#bytes = 0;
    this.#crowded = false;
    this.#proven.clear();
  }

  /**
   * Resumes after a batch that moved everything up to the row with this versionstamp. Returns false when so
   * many lines of so few tenants came meanwhile that another batch should follow soon.
   */
  resume(last: string): boolean {
    this.#rows &&= this.#rows.filter(({ versionstamp }) => versionstamp > last);
    this.#open = this.#rows !== null;
    if (this.#rows === null) return !this.#crowded;
    this.#bytes = 0;
    for (const { lines } of this.#rows) this.#bytes += bytesOf(lines);
    return true;
  }

  /** Records lines that are in the outbox, or may be when the versionstamp is null. */
  waiting(lines: readonly Line[], versionstamp: string | null): void {
    if (this.#rows === null) return;
    this.#bytes += bytesOf(lines);
    if (versionstamp === null || this.#bytes > WAITING_BYTES_MAX) {
      const owners = new Set(this.#rows.flatMap((row) => row.lines.map(({ owner }) => owner)));
      this.#crowded = owners.size * this.limits.inlineBytes <= this.#bytes;
      this.#rows = null;
      this.#open = false;
    } else this.#rows.push({ versionstamp, lines });
  }

  /** Sequences these lines, or returns null when they should wait in the outbox. */
  sequence(lines: readonly Line[], capacity: Capacity): InlineSequence | null {
    const rows = this.#rows;
    if (!this.#open || rows === null || this.#bytes > capacity.bytes) return null;
    const bytes = this.#bytes + bytesOf(lines);
    const most = Math.floor(bytes / this.limits.inlineBytes);
    if (most === 0) return null;
    const growths = new Map<string, Growth>();
    for (const { lines } of rows) if (!this.#grow(growths, lines, most)) return null;
    if (!this.#grow(growths, lines, most)) return null;
    const mutations: Mutation[] = [], checks: Check[] = [];
    let keyBytes = 0;
    for (const { tenant, owner, events, types, full, first, text } of growths.values()) {
      mutations.push(...full, setSegment(tenant, first, text));
      for (const name of this.log.wanting(types, tenant)) mutations.push(setPending(name, tenant));
      if (this.#proven.has(owner)) continue;
      // The commit depends on the log ending where memory says. A log that grew inline before needs no check.
      checks.push(checkOf(segmentKey(tenant, events[0]!.seq), null));
    }
    for (const { keyText } of mutations) keyBytes += keyText.length + KEY_OVERHEAD_BYTES;
    for (const [at, { versionstamp }] of rows.entries()) {
      const row = deleteKey([...OUTBOX, versionstamp]);
      mutations.push(row);
      if (at === 0) checks.push({ key: row.key, keyText: row.keyText, versionstamp });
    }
    if (
      checks.length > capacity.checks || mutations.length > capacity.writes ||
      keyBytes > capacity.keyBytes
    ) return null;
    this.#inFlight = Promise.withResolvers();
    return { checks, mutations, settle: (written) => this.#settle([...growths.values()], written) };
  }

  #settle(growths: readonly Growth[], written: boolean | null): void {
    this.#inFlight?.resolve();
    this.#inFlight = null;
    if (written) {
      for (const { owner } of growths) this.#proven.add(owner);
      this.#rows = [];
      this.#bytes = 0;
    } else if (written === null) {
      this.#open = false;
      this.#rows = null;
    }
    if (written !== false) this.log.sequenced(growths, written === true);
  }

  /** Adds lines to `growths`; false when a head is unknown or the segments would be many and small. */
  #grow(growths: Map<string, Growth>, lines: readonly Line[], most: number): boolean {
    let growth: Growth | undefined;
    for (const { tenant, owner, type, json, bytes } of lines) {
      if (growth?.owner !== owner) growth = growths.get(owner);
      if (growth === undefined) {
        const head = this.log.head(owner);
        if (head === undefined || growths.size === most) return false;
        const types = new Set<string>();
        growth = {
          tenant,
          owner,
          types,
          events: [],
          full: [],
          first: head + 1,
          text: "",
          bytes: 0,
        };
        growths.set(owner, growth);
      }
      const { events } = growth;
      const seq = events.length === 0 ? growth.first : events.at(-1)!.seq + 1;
      if (growth.bytes + bytes > this.limits.segmentBytes && growth.bytes > 0) {
        growth.full.push(setSegment(tenant, growth.first, growth.text));
        growth.first = seq, growth.text = "", growth.bytes = 0;
      }
      growth.text += growth.bytes === 0 ? `${type}\t${json}` : `\n${type}\t${json}`;
      growth.bytes += bytes;
      growth.types.add(type);
      events.push({ seq, type, json });
    }
    return true;
  }
}

function bytesOf(lines: readonly Line[]): number {
  let bytes = 0;
  for (const line of lines) bytes += line.bytes;
  return bytes;
}
