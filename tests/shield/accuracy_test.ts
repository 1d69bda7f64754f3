import { ok } from "node:assert/strict";
import { judgeLabelled } from "./score.ts";

/** Labelled commands, split by tool, with the least recall and the most false alarms in percent. */
const FLOORS = [
  { half: "open", recall: 90, alarms: 2 },
  { half: "closed", recall: 70, alarms: 5 },
] as const;

for (const { half, recall, alarms } of FLOORS) {
  Deno.test(`shield: holds ${recall} % of the ${half} half's commands to hold, and at most ${alarms} % of the others`, () => {
    const file = new URL(`accuracy/${half}.jsonl`, import.meta.url);
    const judged = judgeLabelled(Deno.readTextFileSync(file));
    const [holds, passes] = [true, false].map((wanted) =>
      judged.filter((one) => one.wanted === wanted)
    );
    const share = (all: typeof judged) => 100 * all.filter(({ held }) => held).length / all.length;
    ok(share(holds!) >= recall, `recall ${share(holds!)} %`);
    ok(share(passes!) <= alarms, `false alarms ${share(passes!)} %`);
  });
}
