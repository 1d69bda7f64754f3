import { EMPTY_SHA256 } from "../../protocol/protocol.ts";

/** Rows after which a receipt has no further results: an agent's results of one receipt are recorded together. */
const ROWS_APART_MAX = 4_096;
/** Results of one receipt, as an agent's message holds them. */
const RESULTS_MAX = 64;

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

interface Open {
  readonly agentId: string;
  readonly signature: string;
  readonly rows: number[];
  readonly lines: string[];
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

/** Collects the receipts of a log as its rows pass, in memory that the log's length does not change. */
export class ReceiptCollector {
  readonly #open = new Map<string, Open>();

  /** Takes rows in the order of the log, one a line; returns the receipts that are whole now. */
  take(lines: string): Receipt[] {
    let last = 0;
    for (const line of lines.split("\n")) {
      if (!line.includes(MARK)) continue;
      const row = JSON.parse(line) as Row;
      if (this.#add(row)) last = row.seq;
    }
    return this.#close(last - ROWS_APART_MAX);
  }

  /** The other receipts. */
  end(): Receipt[] {
    return this.#close(Infinity);
  }

  #add(row: Row): boolean {
    const { seq, agent_id: agentId, event_type, resource_type, details } = row;
    const reason = REASONS[event_type];
    if (resource_type !== "command" || agentId === undefined || reason === undefined) return false;
    const { command_id, exit_code, signal, truncated } = details;
    const { signature, verdict, stdout_sha256, stderr_sha256 } = details.receipt as Signed;
    const key = `${agentId} ${signature}`;
    const open = this.#open.get(key) ?? { agentId, signature, rows: [], lines: [] };
    this.#open.set(key, open);
    open.rows.push(seq);
    open.lines.push(
      `${command_id} ${verdict} ${exit_code ?? "-"} ${signal ?? "-"} ${reason} ${truncated} ` +
        `${stdout_sha256 ?? EMPTY_SHA256} ${stderr_sha256 ?? EMPTY_SHA256}\n`,
    );
    return true;
  }

  #close(before: number): Receipt[] {
    const closed: Receipt[] = [];
    for (const [key, { agentId, signature, rows, lines }] of this.#open) {
      if (rows.at(-1)! >= before && rows.length < RESULTS_MAX) continue;
      this.#open.delete(key);
      const text = `relay.receipt.v1\n${agentId}\n${lines.sort().join("")}`;
      closed.push({ agent_id: agentId, signature, rows, text });
    }
    return closed;
  }
}

interface Signed {
  readonly signature: string;
  readonly verdict: string;
  readonly stdout_sha256?: string;
  readonly stderr_sha256?: string;
}
