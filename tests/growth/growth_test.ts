import { ok, strictEqual as eq } from "node:assert/strict";
import { withFolder } from "../support/processes.ts";
import { measureSize } from "./measure.ts";
import { ROWS } from "./rows.ts";
import { tablesOf, withTables } from "./table.ts";

/** Less than the smallest size of the row whose store takes longest to fill. */
const EVENTS = 600;

for (const [row, { sizes }] of Object.entries(ROWS)) {
  Deno.test(`growth: ${row}: every operation is measured`, async () => {
    await withFolder(async (folder) => {
      const { costs } = await measureSize(row, Math.min(sizes[0]!, EVENTS), folder, true);
      ok(costs["backup"]);
      ok(Object.values(costs).every(({ ms }) => ms > 0));
    });
  });
}

Deno.test("growth: a kept store is not filled again", async () => {
  await withFolder(async (folder) => {
    const { filledInMs } = await measureSize("agents", 1, folder, true);
    const again = await measureSize("agents", 1, folder, true);
    eq(again.filledInMs, filledInMs);
  });
});

Deno.test("growth: tables replace those of their rows and nothing else", () => {
  const cost = { ms: 1, cpuMs: 1234, mib: 40, runs: 5 };
  const tables = tablesOf([
    { row: "events", size: 10_000, storeMib: 3.25, filledInMs: 1, costs: { start: cost } },
    { row: "events", size: 100_000, storeMib: 32, filledInMs: 1, costs: { start: cost } },
  ]);
  const page = "## Agents\n\n| a |\n| - |\n\n## Events\n\nText.\n\n| b |\n| - |\n| c |\n\nMore.\n";
  eq(
    withTables(page, tables),
    [
      "## Agents\n\n| a |\n| - |\n\n## Events\n\nText.\n",
      "| events            | 10,000        | 100,000       |",
      "| ----------------- | ------------- | ------------- |",
      "| start             | 1.2 s, 40 MiB | 1.2 s, 40 MiB |",
      "| size of the store | 3.3 MiB       | 32 MiB        |",
      "\nMore.\n",
    ].join("\n"),
  );
});
