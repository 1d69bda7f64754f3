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

/** The audit trail, read line by line: of each row it keeps what a ledger can ask for. */
export class Trail {
  /** Wrong by itself: numbers that are not dense, events that are there twice. */
  readonly faults: string[] = [];
  readonly #events = new Set<string>();
  readonly #used = new Set<string | undefined>();
  readonly #resources = new Map<string, Set<string>>(
    ["command_executed", "command_failed", "api_key_created", "api_key_revoked"]
      .map((type) => [type, new Set()]),
  );
  #rows = 0;

  take(line: string): Row {
    const row: Row = JSON.parse(line);
    const { seq, event_id, event_type, request_id, resource_id } = row;
    if (seq !== ++this.#rows) this.faults.push(`row ${this.#rows} has the number ${seq}`);
    if (this.#events.has(event_id)) this.faults.push(`the event ${event_id} is there twice`);
    this.#events.add(event_id);
    if (event_type === "api_key_used") this.#used.add(request_id);
    this.#resources.get(event_type)?.add(resource_id);
    return row;
  }

  /** What was acknowledged and is not there. */
  missing(ledger: Ledger): string[] {
    const faults: string[] = [];
    const need = (
      found: ReadonlySet<string | undefined>,
      wanted: Iterable<string>,
      what: string,
    ) => {
      for (const id of wanted) if (!found.has(id)) faults.push(`no ${what} ${id}`);
    };
    const of = (type: string) => this.#resources.get(type)!;
    const revoked = [...ledger.keys].filter(([, state]) => state === "revoked").map(([id]) => id);
    need(this.#events, ledger.events, "registered event");
    need(this.#used, ledger.requests, "use of the key in request");
    need(of("command_executed"), ledger.succeeded.keys(), "command_executed of");
    const ended = of("command_executed").union(of("command_failed"));
    need(ended, ledger.accepted.keys(), "end of");
    need(of("api_key_created"), ledger.keys.keys(), "api_key_created of");
    need(of("api_key_revoked"), revoked, "api_key_revoked of");
    return faults;
  }
}

/**
 * Everything that is wrong with an export of the audit trail: rows that are missing, numbers that are
 * not dense, rows that differ from an earlier export.
 */
export function faultsOfTrail(
  lines: readonly string[],
  earlier: readonly string[],
  ledger: Ledger,
): string[] {
  const trail = new Trail();
  for (const line of lines) trail.take(line);
  earlier.forEach((line, at) => {
    if (lines[at] !== line) trail.faults.push(`row ${at + 1} was ${line}, now ${lines[at]}`);
  });
  return [...trail.faults, ...trail.missing(ledger)];
}
