import { parseArgs } from "node:util";
import { withFolder } from "../support/processes.ts";
import { medianOf } from "./flat.ts";
import { reportOf } from "./report.ts";
import { runSoak } from "./run.ts";
import { judge, SERIES } from "./series.ts";

const SAMPLE_MS = 5_000;
const { values } = parseArgs({
  args: Deno.args,
  options: {
    minutes: { type: "string" },
    hours: { type: "string" },
    seed: { type: "string" },
    report: { type: "string", default: "soak-report" },
  },
});
if (values.hours !== undefined && values.minutes !== undefined) {
  throw new Error("give --minutes or --hours, not both");
}
const seconds = values.hours !== undefined
  ? Number(values.hours) * 3600
  : Number(values.minutes ?? 30) * 60;
const seed = Number(values.seed ?? crypto.getRandomValues(new Uint16Array(1))[0]);
if (!(seconds > 0) || !Number.isInteger(seed)) throw new Error("give numbers above 0");

console.log(`soak: ${seconds / 60} minutes, --seed ${seed}`);
const tell = (text: string) => console.log(`soak: ${text}`);
const soaked = await withFolder((folder) =>
  runSoak(folder, { seconds, seed, sampleMs: SAMPLE_MS, tell })
);
const findings = judge(soaked.samples);
await Deno.mkdir(values.report, { recursive: true });
await Deno.writeTextFile(
  `${values.report}/report.html`,
  reportOf(soaked, { seed, findings }),
);
await Deno.writeTextFile(`${values.report}/samples.json`, JSON.stringify(soaked.samples));

for (const { key, title, unit } of SERIES) {
  const trend = findings?.trends.get(key);
  const median = medianOf(soaked.samples.map((sample) => sample[key])).toFixed(1);
  const growth = trend === undefined ? "" : `, ${trend.perHour.toFixed(1)} ${unit} an hour`;
  tell(`${title}: median ${median} ${unit}${growth}`);
}
if (findings === null) tell("too short to judge the series");
else {
  const [first, last] = findings.bytesPerEvent.map((n) => n.toFixed(0));
  tell(`bytes for each event: ${first}, then ${last}`);
}
const faults = [...soaked.faults, ...findings?.faults ?? []];
for (const fault of faults) console.error(`soak: ${fault}`);
tell(`${faults.length} faults; ${values.report}/report.html`);
Deno.exit(faults.length === 0 ? 0 : 1);
