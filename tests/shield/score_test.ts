import { deepStrictEqual as deq, strictEqual as eq, throws } from "node:assert/strict";
import { intervalOf, judgeLabelled, scoreText } from "./score.ts";

const LINES = [
  { command: "rm -rf /srv/data", label: "hold", class: "destroy" },
  { command: "ls -la", label: "hold", class: "destroy" },
  { command: "uptime", label: "pass", class: "routine" },
  { command: "git reset --hard", label: "safe", group: "git" },
].map((line) => JSON.stringify(line)).join("\n");

Deno.test("shield:score: counts what is held as labelled, by class and by rule", () => {
  const judged = judgeLabelled(`${LINES}\n\n`);
  deq(judged.map(({ of, wanted, held }) => [of, wanted, held]), [
    ["destroy", true, true],
    ["destroy", true, false],
    ["routine", false, false],
    ["git", false, true],
  ]);
  const text = scoreText(judged).split("\n");
  eq(
    text[0],
    "all: recall 1 of 2 (50.0 %, 95 % interval 9.5–90.5 %); " +
      "false alarms 1 of 2 (50.0 %, 95 % interval 9.5–90.5 %)",
  );
  eq(text.at(-1), "  git.reset_hard: 0 / 1");
});

Deno.test("shield:score: the interval is Wilson's", () => {
  deq(intervalOf(95, 100).map((percent) => percent.toFixed(2)), ["88.82", "97.85"]);
  deq(intervalOf(0, 0), [0, 100]);
});

Deno.test("shield:score: names the first line that is no labelled command", () => {
  throws(() => judgeLabelled(`${LINES}\n{"command":"ls"}`), /^Error: line 5 is not/);
});
