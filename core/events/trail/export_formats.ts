import type { Sequenced } from "../../../kv/log/log.ts";
import { type AuditEvent, showEvent } from "./filter.ts";
import { csvRow } from "./csv.ts";

/** An exported row with its proof. */
export interface ProvenRow {
  readonly event: Sequenced;
  /** JSON members placed before the row's own: its number and hashes. */
  readonly front: string;
  readonly leaf: string;
}

/** The proof at the end of an export. */
export interface Ending {
  /** The signed note: the tree, and which of its rows the export contains. */
  readonly checkpoint: string;
  readonly public_key: string;
  /** The number of the last row, and hashes that stand for the rows after it. */
  readonly after: number;
  readonly hashes: readonly string[];
  /** The handovers from former keys to the one that signed; absent without any. */
  readonly handovers?: readonly string[];
}

export type Pages = AsyncGenerator<readonly ProvenRow[], Ending>;
export type Text = AsyncGenerator<string>;

/** The export formats, by media type. */
export const EXPORTS: Readonly<
  Record<string, { readonly extension: string; readonly write: (pages: Pages) => Text }>
> = {
  "application/json": { extension: "json", write: writeJson },
  "application/x-ndjson": { extension: "ndjson", write: writeNdjson },
  "text/csv": { extension: "csv", write: writeCsv },
};

const rowText = ({ event: { json }, front }: ProvenRow): string => `{${front},${json.slice(1)}`;

async function* writeJson(pages: Pages): Text {
  yield '{"events":[\n';
  let separator = "";
  for (;;) {
    const { done, value } = await pages.next();
    if (done) {
      yield `\n],"proof":${JSON.stringify(value)}}\n`;
      return;
    }
    yield separator + value.map(rowText).join(",\n");
    separator = ",\n";
  }
}

async function* writeNdjson(pages: Pages): Text {
  for (;;) {
    const { done, value } = await pages.next();
    if (done) {
      yield `{"proof":${JSON.stringify(value)}}\n`;
      return;
    }
    yield value.map((row) => `${rowText(row)}\n`).join("");
  }
}

const COLUMNS = [
  "seq",
  "event_id",
  "event_type",
  "timestamp",
  "actor",
  "resource_type",
  "resource_id",
  "agent_id",
  "request_id",
] as const satisfies readonly (keyof AuditEvent)[];

async function* writeCsv(pages: Pages): Text {
  // New columns follow the others, for readers that count columns.
  yield csvRow([...COLUMNS, "details", "leaf_hash", "thread"]);
  for await (const page of pages) {
    yield page.map(({ event, leaf }) => {
      const row = showEvent(event);
      const cells = COLUMNS.map((name) => row[name] ?? null);
      return csvRow([...cells, JSON.stringify(row.details)], leaf, row.thread ?? "");
    }).join("");
  }
}
