import { deepStrictEqual as deq, match, ok } from "node:assert/strict";
import { withFolder } from "../support/processes.ts";
import { reportOf } from "./report.ts";
import { runSoak } from "./run.ts";
import { judge } from "./series.ts";

const SECONDS = 6;

Deno.test("soak: a short one loses nothing over a kill of the relay, one of an agent and a step of the clock", async () => {
  await withFolder(async (folder) => {
    const seed = crypto.getRandomValues(new Uint16Array(1))[0]!;
    console.log(`soak: seed ${seed}`);
    const soaked = await runSoak(folder, { seconds: SECONDS, sampleMs: 500, seed, tell: () => {} });
    deq(soaked.faults, []);
    const kinds = soaked.marks.map(({ kind }) => kind).sort();
    deq(kinds, ["agent killed", "clock stepped", "relay killed"]);
    ok(soaked.samples.length > 0);
    const page = reportOf(soaked, { seed, findings: judge(soaked.samples) });
    match(page, /The soak found nothing wrong/);
  });
});
