import { type Change, type CoalescedLine, NOTHING } from "../store/change.ts";
import type { Tenant } from "../store/collection.ts";
import { type Line, makeLine } from "./line.ts";
import { LOG_VALUE_BYTES_MAX, TENANTS_MAX } from "../store/limits.ts";

/** Where a rule adds event rows and shared lines, whatever else is in the change. */
export type Appending = Pick<Appends, "append" | "coalesce" | "afterCommit">;

/** What is only added and depends on nothing that was read: event rows, and lines for shared values. */
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
      throw new RangeError("too many events in one change");
    }
    this.#lines.push(line);
  }

  /** The types of the events so far, each once. */
  eventTypes(): string[] {
    return [...new Set(this.#lines.map(({ type }) => type))];
  }

  /** Adds a line to a value that all callers of the commit share; see `coalescedLine`. */
  coalesce(line: CoalescedLine): void {
    this.#coalesced.push(line);
  }

  /** Runs `task` once, after the commit that succeeds. */
  afterCommit(task: (versionstamp: string) => void): void {
    this.#after.push(task);
  }

  /** All of it, ready for the committer. */
  change(): Change {
    return {
      ...NOTHING,
      lines: this.#lines,
      lineBytes: this.#lineBytes,
      tenants: this.#tenants,
      coalesced: this.#coalesced,
    };
  }

  /** The commit has succeeded: what waited for it may run. */
  committed(versionstamp: string): void {
    for (const task of this.#after) task(versionstamp);
  }
}
