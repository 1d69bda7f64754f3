import { deepStrictEqual as deq, ok } from "node:assert/strict";
import { inParts } from "../../core/host/evidence/parts.ts";

const RESULTS = 64;

/** A row of a command's result under a receipt, with digests, as an export shows it. */
function row(seq: number, padding: string): string {
  const digest = "ab".repeat(32);
  return JSON.stringify({
    seq,
    agent_id: "agt_0000000000000000",
    event_type: "command_executed",
    resource_type: "command",
    details: {
      command_id: `cmd_${String(seq).padStart(32, "0")}`,
      exit_code: 0,
      truncated: false,
      padding,
      receipt: {
        signature: `signature of ${Math.floor((seq - 1) / RESULTS)}`,
        verdict: "allowed",
        stdout_sha256: digest,
        stderr_sha256: digest,
      },
    },
  });
}

async function* lines(rows: number, each: number, padding: string): AsyncGenerator<string> {
  for (let seq = 1; seq <= rows; seq += each) {
    const here = Array.from({ length: Math.min(each, rows - seq + 1) }, (_, n) => seq + n);
    yield here.map((one) => `${row(one, padding)}\n`).join("");
  }
}

Deno.test("inParts: every receipt comes after its rows, whatever the sizes of the rows and pieces", async () => {
  for (const [rows, each] of [[6000, 1], [6000, 64], [6000, 100], [5900, 333]] as const) {
    for (const padding of ["", "x".repeat(400)]) {
      const seen = new Set<number>();
      const names = new Set<string>();
      let receipts = 0;
      for await (const { name, pieces } of inParts(lines(rows, each, padding))) {
        ok(!names.has(name));
        names.add(name);
        const text = new TextDecoder().decode(await new Blob([...pieces]).arrayBuffer());
        for (const line of text.split("\n").filter((one) => one !== "")) {
          const value = JSON.parse(line);
          if (name.startsWith("audit/")) seen.add(value.seq);
          else {
            receipts++;
            const missing = value.rows.filter((seq: number) => !seen.has(seq));
            deq(missing, [], `${name} with ${each} rows a piece and ${padding.length} bytes more`);
          }
        }
      }
      ok(names.has("receipts/000002.ndjson"), "several files of receipts");
      deq([seen.size, receipts], [rows, Math.ceil(rows / RESULTS)]);
    }
  }
});
