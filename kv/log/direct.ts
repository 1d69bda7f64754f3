import { type Check, checkOf, deleteKey, type Mutation } from "../store/change.ts";
import type { Tenant } from "../store/collection.ts";
import { OUTBOX } from "../commit/commit.ts";
import type { FoldLimits, TenantEvents } from "./fold.ts";
import type { Line } from "./line.ts";
import { KEY_OVERHEAD_BYTES } from "../store/load.ts";
import { setPending } from "./pending.ts";
import type { Numbered, Room } from "./numbering.ts";
import { segmentKey, setSegment } from "./segments.ts";

/** A row of the outbox, as it was committed here. */
interface Row {
  readonly versionstamp: string;
  readonly lines: readonly Line[];
}

/** What a tenant's log gets. */
interface Growth extends TenantEvents {
  readonly owner: string;
  readonly types: Set<string>;
  /** Those that are full, and the one that is being filled: its first number, text and size. */
  readonly full: Mutation[];
  first: number;
  text: string;
  bytes: number;
}

/** What it asks of the log. */
export interface Log {
  /** The number of a tenant's newest event, or undefined when it must be read. */
  readonly head: (owner: string) => number | undefined;
  /** The followers that want one of these types of events. */
  readonly wanting: (types: Iterable<string>, tenant: Tenant) => Iterable<string>;
  /** Called when these events have their numbers, or may have them. */
  readonly numbered: (batches: readonly TenantEvents[], certain: boolean) => void;
}

/** What may wait in the outbox and still go along with a later commit. */
const WAITING_BYTES_MAX = 256 * 1024;

/**
 * Numbers events in the commit that brings them, where they are enough for a segment: they are written once
 * then, and no fold has to read and move them. Only a sole sequencer may do that, while no fold is under way
 * and it knows everything that waits in the outbox, which comes first and so goes along.
 */
export class DirectNumbering {
  #open = false;
  /** What waits in the outbox, as far as it came since the last fold began to look; null when that is not known. */
  #rows: Row[] | null = null;
  #bytes = 0;
  /** Whose logs have had a segment from here since the last fold, so they are known to end there. */
  readonly #proven = new Set<string>();
  /** Why it is not known: too much came for a few tenants. */
  #crowded = false;
  #underWay: PromiseWithResolvers<void> | null = null;

  constructor(private readonly log: Log, private readonly limits: FoldLimits) {}

  /**
   * True when a fold would find nothing. What is in the engine already has its numbers by then: who read an
   * event before the log heard that its commit was made must not meet a head below it.
   */
  async nothingWaits(): Promise<boolean> {
    await this.#underWay?.promise;
    return this.#open && this.#rows?.length === 0;
  }

  /** Before a fold looks: what was numbered here is known then, and nothing is until `resume`. */
  async pause(): Promise<void> {
    this.#open = false;
    await this.#underWay?.promise;
    this.#rows = [];
    this.#bytes = 0;
    this.#crowded = false;
    this.#proven.clear();
  }

  /**
   * After a fold has moved everything up to the row with this versionstamp, the last that it saw. False when
   * so much came meanwhile for so few that another fold should make room soon.
   */
  resume(last: string): boolean {
    this.#rows &&= this.#rows.filter(({ versionstamp }) => versionstamp > last);
    this.#open = this.#rows !== null;
    if (this.#rows === null) return !this.#crowded;
    this.#bytes = 0;
    for (const { lines } of this.#rows) this.#bytes += bytesOf(lines);
    return true;
  }

  /** Lines are in the outbox now, or may be when the versionstamp is null. */
  waiting(lines: readonly Line[], versionstamp: string | null): void {
    if (this.#rows === null) return;
    this.#bytes += bytesOf(lines);
    if (versionstamp === null || this.#bytes > WAITING_BYTES_MAX) {
      const owners = new Set(this.#rows.flatMap((row) => row.lines.map(({ owner }) => owner)));
      this.#crowded = owners.size * this.limits.directBytes <= this.#bytes;
      this.#rows = null;
      this.#open = false;
    } else this.#rows.push({ versionstamp, lines });
  }

  /** What numbers these lines, or null when they had better wait in the outbox. */
  number(lines: readonly Line[], room: Room): Numbered | null {
    const rows = this.#rows;
    if (!this.#open || rows === null || this.#bytes > room.bytes) return null;
    const bytes = this.#bytes + bytesOf(lines);
    const most = Math.floor(bytes / this.limits.directBytes);
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
      // Nothing may be there, whatever memory says; a check costs the engine more than a write.
      checks.push(checkOf(segmentKey(tenant, events[0]!.seq), null));
    }
    for (const { slot } of mutations) keyBytes += slot.length + KEY_OVERHEAD_BYTES;
    for (const [at, { versionstamp }] of rows.entries()) {
      const row = deleteKey([...OUTBOX, versionstamp]);
      mutations.push(row);
      if (at === 0) checks.push({ key: row.key, slot: row.slot, versionstamp });
    }
    if (
      checks.length > room.checks || mutations.length > room.writes || keyBytes > room.keyBytes
    ) return null;
    this.#underWay = Promise.withResolvers();
    return { checks, mutations, settle: (written) => this.#settle([...growths.values()], written) };
  }

  #settle(growths: readonly Growth[], written: boolean | null): void {
    this.#underWay?.resolve();
    this.#underWay = null;
    if (written) {
      for (const { owner } of growths) this.#proven.add(owner);
      this.#rows = [];
      this.#bytes = 0;
    } else if (written === null) {
      this.#open = false;
      this.#rows = null;
    }
    if (written !== false) this.log.numbered(growths, written === true);
  }

  /** Adds lines to what the logs get; false when that cannot be done, or would make many small segments. */
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
