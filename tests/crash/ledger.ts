/** What the relay has acknowledged: it must be there after every crash. */
export class Ledger {
  /** Request ids of answered requests: each was made with an API key, whose use is on record. */
  readonly requests: string[] = [];
  /** Ids of the callers' own audit events. */
  readonly events: string[] = [];
  /** What each command was told to write into the counter file, by command id. */
  readonly succeeded = new Map<string, string>();
  /** The same of commands that were accepted, whose end nobody has been told. */
  readonly accepted = new Map<string, string>();
  /** API keys; `unknown` while the answer to a revocation is outstanding. */
  readonly keys = new Map<string, "active" | "revoked" | "unknown">();
  /** Other records, by their paths; `unknown` while the answer to a deletion is outstanding. */
  readonly others = new Map<string, "there" | "gone" | "unknown">();
  #marks = 0;

  /** A text that no other command writes. */
  nextMark(): string {
    return `m${++this.#marks}`;
  }
}

/** An audit row, as the export gives it. */
interface Row {
  readonly seq: number;
  readonly event_id: string;
  readonly event_type: string;
  readonly request_id?: string;
  readonly resource_id: string;
}

/**
 * Everything that is wrong with an export of the audit trail: rows that are missing, numbers that are
 * not dense, rows that differ from an earlier export.
 */
export function faultsOfTrail(
  lines: readonly string[],
  earlier: readonly string[],
  ledger: Ledger,
) {
  const rows = lines.map((line) => JSON.parse(line) as Row);
  const faults: string[] = [];
  rows.forEach(({ seq }, at) => {
    if (seq !== at + 1) faults.push(`row ${at + 1} has the number ${seq}`);
  });
  earlier.forEach((line, at) => {
    if (lines[at] !== line) faults.push(`row ${at + 1} was ${line}, now ${lines[at]}`);
  });
  const ids = new Set(rows.map((row) => row.event_id));
  if (ids.size !== rows.length) faults.push("an event is there twice");
  const has = (type: string, of: (row: Row) => string | undefined) => {
    return new Set(rows.filter((row) => row.event_type === type).map(of));
  };
  const need = (found: ReadonlySet<string | undefined>, wanted: Iterable<string>, what: string) => {
    for (const id of wanted) if (!found.has(id)) faults.push(`no ${what} ${id}`);
  };
  const resource = (row: Row) => row.resource_id;
  const revoked = [...ledger.keys].filter(([, state]) => state === "revoked").map(([id]) => id);
  need(ids, ledger.events, "registered event");
  need(has("api_key_used", (row) => row.request_id), ledger.requests, "use of the key in request");
  const executed = has("command_executed", resource);
  need(executed, ledger.succeeded.keys(), "command_executed of");
  const ended = executed.union(has("command_failed", resource));
  need(ended, ledger.accepted.keys(), "end of");
  need(has("api_key_created", resource), ledger.keys.keys(), "api_key_created of");
  need(has("api_key_revoked", resource), revoked, "api_key_revoked of");
  return faults;
}
