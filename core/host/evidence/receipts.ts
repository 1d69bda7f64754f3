import { EMPTY_SHA256 } from "../../protocol/protocol.ts";

/** Rows after which a receipt has no further results: of results recorded further apart, none is proven. */
const ROWS_APART_MAX = 1_024;

/** A receipt, rebuilt from the rows of the results that it covers. */
interface Receipt {
  readonly agent_id: string;
  /** The agent's Ed25519 signature over `text`, base64url. */
  readonly signature: string;
  readonly rows: readonly number[];
  readonly text: string;
}

/** What of a row this reads. */
interface Row {
  readonly seq: number;
  readonly agent_id?: string;
  readonly event_type: string;
  readonly resource_type: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** Why a command ended, as a receipt says it, by the type of its event. */
const REASONS: Readonly<Record<string, string>> = {
  command_executed: "exited",
  command_timeout: "timed_out",
  command_cancelled: "cancelled",
  command_failed: "failed_to_start",
};

/** A member of each row with a receipt. Other rows are not parsed. */
const MARK = '"receipt":{';

/**
 * Collects the receipts of a log as its rows pass, in memory that the log's length does not change. Open receipts are
 * texts, in maps that are soon replaced. The engine would allocate lasting objects in its old generation, where all
 * receipts of a log would stay until a full garbage collection.
 */
export class ReceiptCollector {
  /** The results of each open receipt, one a line: the row's number, and the receipt's line. */
  #newer = new Map<string, string>();
  /** The receipts without a result since these maps were replaced. */
  #older = new Map<string, string>();
  #replaceAt = 0;

  /** Takes rows in the order of the log, one a line; returns the receipts that are whole now. */
  take(lines: string): Receipt[] {
    const closed: Receipt[] = [];
    for (const line of lines.split("\n")) {
      if (!line.includes(MARK)) continue;
      const row = JSON.parse(line) as Row;
      if (row.seq >= this.#replaceAt) {
        closed.push(...receiptsOf(this.#older));
        this.#older = this.#newer;
        this.#newer = new Map();
        this.#replaceAt = row.seq + ROWS_APART_MAX;
      }
      this.#add(row);
    }
    return closed;
  }

  /** The other receipts. */
  end(): Receipt[] {
    return [...receiptsOf(this.#older), ...receiptsOf(this.#newer)];
  }

  #add({ seq, agent_id, event_type, resource_type, details }: Row): void {
    const reason = REASONS[event_type];
    if (resource_type !== "command" || agent_id === undefined || reason === undefined) return;
    const { command_id, exit_code, signal, truncated } = details;
    const { signature, verdict, stdout_sha256, stderr_sha256 } = details.receipt as Signed;
    const key = `${agent_id} ${signature}`;
    const before = this.#newer.get(key) ?? this.#older.get(key) ?? "";
    // A joined text is one piece; a template would keep its parts.
    const result = [
      seq,
      command_id,
      verdict,
      exit_code ?? "-",
      signal ?? "-",
      reason,
      truncated,
      stdout_sha256 ?? EMPTY_SHA256,
      stderr_sha256 ?? EMPTY_SHA256,
    ].join(" ");
    this.#older.delete(key);
    this.#newer.set(key, [before, result, "\n"].join(""));
  }
}

function* receiptsOf(open: ReadonlyMap<string, string>): Generator<Receipt> {
  for (const [key, results] of open) {
    const [agent_id, signature] = key.split(" ") as [string, string];
    const rows: number[] = [], lines: string[] = [];
    for (const result of results.split("\n").slice(0, -1)) {
      const space = result.indexOf(" ");
      rows.push(Number(result.slice(0, space)));
      lines.push(`${result.slice(space + 1)}\n`);
    }
    const text = `relay.receipt.v1\n${agent_id}\n${lines.sort().join("")}`;
    yield { agent_id, signature, rows, text };
  }
}

interface Signed {
  readonly signature: string;
  readonly verdict: string;
  readonly stdout_sha256?: string;
  readonly stderr_sha256?: string;
}
