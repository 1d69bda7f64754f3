import { ok, strictEqual as eq } from "node:assert/strict";
import type { Pack, QueryResult } from "../../core/host/compliance/pack.ts";
import type { EventRow } from "../../core/events/events.ts";
import { type Account, type Answer, World } from "../support/world.ts";

export const HOUR_MS = 60 * 60 * 1000;

/** A row of an export. */
export type Row = EventRow & { readonly seq: number };

const PATH = "/api/v1/compliance";

/** Requests a report; returns the response. */
export const ask = (world: World, as: string, type: string, period: string): Promise<Answer> =>
  world.call("POST", `${PATH}/report/generate`, { as, body: { type, period } });

/** Reads a report or the newest one. */
export const read = (world: World, as: string, query = ""): Promise<Answer> =>
  world.call("GET", `${PATH}/report${query}`, { as });

/** Lists the reports. */
export const list = (world: World, as: string, query = ""): Promise<Answer> =>
  world.call("GET", `${PATH}/reports${query}`, { as });

/** Makes a report, waits for it and reads it. */
export async function make(world: World, { token }: Account, type: string, period: string) {
  const asked = await ask(world, token, type, period);
  eq(asked.status, 202, asked.text);
  await world.settle();
  const { body } = await read(world, token, `?id=${asked.body.id}`);
  eq(body.status, "completed");
  return body as { id: string; report: Pack; note: string; sha256: string; public_key: string };
}

/** The rows of a report, obtained from the export as its `method` describes. */
export async function rowsOf(world: World, { token }: Account, pack: Pack): Promise<Row[]> {
  const { from, to } = pack.period;
  const path = `/api/audit/export?start_time=${from}&end_time=${to}`;
  const headers = { accept: "application/x-ndjson" };
  const { text } = await world.call("GET", path, { as: token, headers });
  const lines = text.trimEnd().split("\n").slice(0, -1).map((line) => JSON.parse(line) as Row);
  return lines.filter(({ seq }) => seq <= pack.log.size);
}

/** Counts the rows of a query from its description in the pack, independently of the program. */
export function found({ event_types, result, details = {}, same }: QueryResult, rows: Row[]) {
  return rows.filter((row) => {
    if (row.resource_type === "external") return false;
    if (!(event_types as readonly string[]).includes(row.event_type)) return false;
    if (same !== undefined) {
      const [one, other] = same.map((name) => row.details[name]);
      if (one === undefined || one !== other) return false;
    }
    if (result === "denied" && row.details.status !== 403) return false;
    ok(result === undefined || result === "denied", "no query asks for another result");
    return Object.entries(details).every(([name, value]) => row.details[name] === value);
  });
}
