import { ok } from "node:assert/strict";
import { judgeLabelled } from "./score.ts";

/** Sets of labelled commands, with the least recall and the most false alarms in percent: see docs/shield-accuracy.md. */
const FLOORS = [
  { set: "open", recall: 97, alarms: 2 },
  { set: "closed", recall: 97, alarms: 2 },
  { set: "fresh", recall: 97, alarms: 2 },
  { set: "unseen", recall: 97, alarms: 2 },
] as const;

for (const { set, recall, alarms } of FLOORS) {
  Deno.test(`shield: holds ${recall} % of the ${set} set's commands to hold, and at most ${alarms} % of the others`, () => {
    const file = new URL(`accuracy/${set}.jsonl`, import.meta.url);
    const judged = judgeLabelled(Deno.readTextFileSync(file));
    const [holds, passes] = [true, false].map((wanted) =>
      judged.filter((one) => one.wanted === wanted)
    );
    const share = (all: typeof judged) => 100 * all.filter(({ held }) => held).length / all.length;
    ok(share(holds!) >= recall, `recall ${share(holds!)} %`);
    ok(share(passes!) <= alarms, `false alarms ${share(passes!)} %`);
  });
}
