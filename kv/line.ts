import { Buffer } from "node:buffer";
import { type Tenant, tenantKey, tenantOf } from "./collection.ts";
import { LINE_BYTES_MAX } from "./limits.ts";

/** An event on its way to a tenant's log. */
export interface Line {
  readonly tenant: Tenant;
  readonly type: string;
  /** The event row: canonical JSON, so without a raw tab or newline. */
  readonly json: string;
}

/**
 * One line of a journal value: tenant, type and row, separated by tabs. Its bytes count the newline too.
 * @throws {RangeError} above LINE_BYTES_MAX
 */
export function encodeLine(
  tenant: Tenant,
  type: string,
  json: string,
): { line: string; bytes: number } {
  const line = `${tenantKey(tenant)}\t${type}\t${json}`;
  const bytes = Buffer.byteLength(line) + 1;
  if (bytes > LINE_BYTES_MAX) throw new RangeError(`event ${type} has ${bytes} bytes`);
  return { line, bytes };
}

/** What `encodeLine` wrote. */
export function decodeLine(line: string): Line {
  const first = line.indexOf("\t"), second = line.indexOf("\t", first + 1);
  return {
    tenant: tenantOf(line.slice(0, first)),
    type: line.slice(first + 1, second),
    json: line.slice(second + 1),
  };
}
