import { Buffer } from "node:buffer";
import { type Tenant, tenantKey } from "../store/collection.ts";
import { LINE_BYTES_MAX } from "../engine/engine_limits.ts";

/** The prefix of the outbox, whose rows hold the events of one commit each. */
export const OUTBOX: Deno.KvKey = ["~", "outbox"];

/** An event on its way to a tenant's log. */
export interface Line {
  readonly tenant: Tenant;
  /** The tenant as one text. */
  readonly owner: string;
  readonly type: string;
  /** The event row, as canonical JSON, which has no raw tab or newline. */
  readonly json: string;
  /** Size of the line in the outbox, newline included. In a segment it is shorter. */
  readonly bytes: number;
}

/** An event as the committer takes it. @throws {RangeError} above LINE_BYTES_MAX */
export function makeLine(tenant: Tenant, type: string, json: string): Line {
  const owner = tenantKey(tenant);
  const bytes = Buffer.byteLength(owner) + Buffer.byteLength(type) + Buffer.byteLength(json) + 3;
  if (bytes > LINE_BYTES_MAX) {
    throw new RangeError(`event ${type} has ${bytes} bytes; the limit is ${LINE_BYTES_MAX}`);
  }
  return { tenant, owner, type, json, bytes };
}

/** The value of an outbox row: one line for each event, with tabs between tenant, type and row. */
export function outboxText(lines: readonly Line[]): string {
  let text = "";
  for (const { owner, type, json } of lines) {
    text += `${text === "" ? "" : "\n"}${owner}\t${type}\t${json}`;
  }
  return text;
}
