import { deepStrictEqual as deq, ok } from "node:assert/strict";
import { layerOf } from "../../console/app/layers.ts";
import { diffLines } from "../../console/app/line_diff.ts";
import { candidateOf } from "../../console/app/policy_candidate.ts";
import {
  commandInHash,
  hashOf,
  labelsOf,
  textOfLabels,
} from "../../console/app/screens/safety/playground_address.ts";
import { periodsNow } from "../../console/app/screens/safety/reports/periods.ts";
import { World } from "../support/world.ts";
import { mulberry32 } from "../support/random.ts";

const lines = (count: number) => Array.from({ length: count }, (_, n) => `line ${n}`);

Deno.test("diff: both texts can be read from the rows, and unchanged lines are on both sides", () => {
  const seed = 7;
  console.log(`seed ${seed}`);
  const random = mulberry32(seed);
  const words = ["a", "b", "c", "d"];
  const text = () =>
    Array.from(
      { length: 1 + Math.floor(random() * 12) },
      () => words[Math.floor(random() * words.length)],
    ).join("\n");
  for (let n = 0; n < 300; n++) {
    const [before, after] = [text(), text()];
    const rows = diffLines(before, after);
    if (rows.some(({ kind }) => kind === "skipped")) continue;
    deq(rows.flatMap(({ before }) => before ?? []).join("\n"), before);
    deq(rows.flatMap(({ after }) => after ?? []).join("\n"), after);
    ok(rows.every(({ kind, before, after }) => kind !== "same" || before === after));
  }
});

Deno.test("diff: a long run of the same lines is counted, and three lines around a change are shown", () => {
  const before = lines(40), after = before.with(20, "another");
  const rows = diffLines(before.join("\n"), after.join("\n"));
  deq(rows.map(({ kind, before }) => kind === "skipped" ? Number(before) : kind), [
    17,
    "same",
    "same",
    "same",
    "changed",
    "same",
    "same",
    "same",
    16,
  ]);
  deq(diffLines("same", "same").filter(({ kind }) => kind === "changed"), []);
});

Deno.test("diff: texts too large to compare show as replaced", () => {
  const [before, after] = [
    lines(3_000).join("\n"),
    lines(3_000).map((line) => `${line}!`).join("\n"),
  ];
  deq(new Set(diffLines(before, after).map(({ kind }) => kind)), new Set(["changed"]));
});

Deno.test("playground: a command survives its address, and an unreadable address is no command", () => {
  for (const command of ["rm -rf /tmp/#a?b=c&d", "é\u202e\n%41", "echo '+ +'"]) {
    deq(commandInHash(hashOf(command)), command);
  }
  deq([hashOf(""), commandInHash("#c=%E0%A4%A"), commandInHash("#main")], ["", "", ""]);
  deq(labelsOf(" env=prod, tier = web,nonsense,a=b=c"), { env: "prod", tier: "web", a: "b=c" });
  deq(textOfLabels({ env: "prod", tier: "web" }), "env=prod, tier=web");
});

Deno.test("playground: each rule is of the layer that its id names", () => {
  deq(
    ["policy.no-x", "structure.hidden", "behaviour.data_leaves", "git.push", "odd", "toString.x"]
      .map(layerOf),
    [
      "policy",
      "structure",
      "behaviour",
      "patterns",
      "patterns",
      "patterns",
    ],
  );
});

Deno.test("playground: a policy file judges by its rules, thresholds and list of tools", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  const document = {
    name: "prod",
    agents: { labels: { env: "prod" } },
    mode: "observe",
    rules: [{ id: "up", match: { commands: ["uptime"] }, verdict: "deny" }],
    tools: { allow: ["uptime", "ls"], otherwise: "approve" },
    output: { retention_days: 3 },
    tests: [{ command: "uptime", expect: "allow" }],
  };
  const body = { commands: ["uptime", "ls", "date"], policy: candidateOf(document) };
  const { status, body: { results }, text } = await world.call("POST", "/api/shield/evaluate", {
    as: token,
    body,
  });
  deq(status, 200, text);
  deq(results.map(({ verdict }: { verdict: string }) => verdict), ["deny", "allow", "approve"]);
});

Deno.test("compliance: the usual periods are those of the present day", () => {
  const [present, last, ...rest] = periodsNow(new Date("2026-01-31T12:00:00Z"));
  deq([present!.period, last!.period], ["2026-Q1", "2025-Q4"]);
  deq(rest.map(({ period }) => period), ["24h", "7d", "P1M", "P1Y"]);
});
