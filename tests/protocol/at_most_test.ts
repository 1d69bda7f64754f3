import { deepStrictEqual as deq, ok } from "node:assert/strict";
import { z } from "zod";
import { readReports } from "../../core/agents/alerts/report.ts";
import { atMost } from "../../core/protocol/at_most.ts";
import { Policy } from "../../core/shield/shield.ts";
import { nextTurn } from "../../core/ports/turn.ts";
import { routes } from "../../routes/index.ts";

const names = (n: number, value: unknown) =>
  Object.fromEntries(Array.from({ length: n }, (_, at) => [`k${at}`, value]));

Deno.test("atMost: too many items or names are refused before any of them is checked", () => {
  let looked = 0;
  const one = z.unknown().refine(() => ++looked > 0);
  const schema = z.strictObject({
    list: atMost(3, z.array(one)).optional(),
    map: atMost(3, z.record(z.string(), one)).default({}),
  });
  const problems = (value: unknown) =>
    schema.safeParse(value).error?.issues.map(({ path, message }) => [path.join("."), message]);
  deq(problems({ list: [1, 2, 3, 4], map: names(4, 1) }), [
    ["list", "must hold at most 3"],
    ["map", "must hold at most 3"],
  ]);
  deq(looked, 0);
  deq([problems({ list: [1, 2, 3], map: names(3, 1) }), looked], [undefined, 6]);
  deq([problems({}), problems({ list: {} })?.length, problems({ list: null })?.length], [
    undefined,
    1,
    1,
  ]);
});

Deno.test("atMost: bounds labels, rules and tests of a policy, commands, and alerts", async () => {
  const evaluate = routes.find(({ id }) => id === "shield.evaluate")!.body!;
  const wrong = Array.from({ length: 5_000 }, () => ({}));
  const only = (match: unknown) => ({ rules: [{ id: "x", verdict: "deny", match }] });
  const issues: (readonly [string, z.ZodError | undefined])[] = [
    ["rules", Policy.safeParse({ rules: wrong }).error],
    ["tests", Policy.safeParse({ tests: wrong }).error],
    ["match.labels", Policy.safeParse(only({ labels: names(5_000, 0) })).error],
    ["labels", evaluate.safeParse({ commands: ["ls"], labels: names(5_000, 0) }).error],
    ["commands", evaluate.safeParse({ commands: wrong }).error],
  ];
  for (const [where, error] of issues) {
    deq([where, error?.issues.length, /must hold at most/.test(error?.message ?? "")], [
      where,
      1,
      true,
    ]);
  }
  const { errors } = await readReports([{ name: "x", labels: names(5_000, 0) }]);
  deq(errors, [{ index: 0, message: "labels: must hold at most 64" }]);
});

Deno.test("readReports: other requests run while many reports are read", async () => {
  let turns = 0;
  const others = async () => {
    for (; turns < 1_000; turns++) await nextTurn();
  };
  const theirs = others();
  await readReports(Array.from({ length: 10_000 }, () => ({ name: "x" })));
  ok(turns >= 150, `${turns} turns`);
  turns = 1_000;
  await theirs;
});
