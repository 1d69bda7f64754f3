import { type Change, type CoalescedLine, NOTHING } from "../store/change.ts";
import type { Tenant } from "../store/collection.ts";
import { type Line, makeLine } from "./line.ts";
import { LOG_VALUE_BYTES_MAX, TENANTS_MAX } from "../engine/engine_limits.ts";

/** What a rule adds to a change without reading: event rows, coalesced lines, tasks after the commit. */
export type Appending = Pick<Appends, "append" | "coalesce" | "afterCommit">;

/** The additions of a change, which depend on nothing that was read: event rows and coalesced lines. */
export class Appends {
  readonly #lines: Line[] = [];
  #lineBytes = 0;
  readonly #tenants: string[] = [];
  readonly #coalesced: CoalescedLine[] = [];
  readonly #after: ((versionstamp: string) => void)[] = [];

  /**
   * Appends one event row, as canonical JSON, to the tenant's log.
   * @throws {RangeError} when one commit could not hold it
   */
  append(tenant: Tenant, type: string, json: string): void {
    const line = makeLine(tenant, type, json);
    this.#lineBytes += line.bytes;
    if (!this.#tenants.includes(line.owner)) this.#tenants.push(line.owner);
    if (this.#lineBytes > LOG_VALUE_BYTES_MAX || this.#tenants.length > TENANTS_MAX) {
      throw new RangeError("one change has too many events");
    }
    this.#lines.push(line);
  }

  /** The distinct types of the events so far. */
  eventTypes(): string[] {
    return [...new Set(this.#lines.map(({ type }) => type))];
  }

  /** Adds a line to a value that all callers of the commit share; `coalescedLine` makes one. */
  coalesce(line: CoalescedLine): void {
    this.#coalesced.push(line);
  }

  /** Runs `task` once, after the commit succeeds. */
  afterCommit(task: (versionstamp: string) => void): void {
    this.#after.push(task);
  }

  /** The additions, as the committer takes them. */
  change(): Change {
    return {
      ...NOTHING,
      lines: this.#lines,
      lineBytes: this.#lineBytes,
      tenants: this.#tenants,
      coalesced: this.#coalesced,
    };
  }

  /** Runs the tasks of `afterCommit`. */
  committed(versionstamp: string): void {
    for (const task of this.#after) task(versionstamp);
  }
}
