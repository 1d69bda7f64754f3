import type { Run } from "./command.ts";

/** `relay approvals suggest` */
export const suggest: Run = async ({ relay, number, has, host, out }) => {
  const answer = await relay().call("approvals.suggest", { query: { days: number("days") } });
  const proposals = answer.rules.flatMap(({ proposal }) => proposal ?? []);
  if (has("policy")) {
    const rules = proposals.flatMap(({ rules }) => rules);
    const tests = proposals.flatMap(({ tests = [] }) => tests);
    if (rules.length === 0) {
      await out.note("There is nothing to propose.");
      return 1;
    }
    const { stringify } = await import("../yaml.ts");
    await host.write(stringify({ name: "always-approved", rules, tests }));
    return 0;
  }
  await out.list(
    answer,
    ["RULE", "HELD", "APPROVED", "REJECTED", "NO DECISION", "MEDIAN", "PROPOSED LINES"],
    answer.rules.map((rule) =>
      [
        rule.rule_id,
        rule.held,
        rule.approved,
        rule.rejected,
        rule.expired,
        rule.median_seconds === null ? "" : `${rule.median_seconds} s`,
        rule.proposal?.rules[0]?.match.lines?.length ?? 0,
      ] as const
    ),
  );
  if (proposals.length > 0) {
    await out.note("As a policy to review and commit: relay approvals suggest --policy");
  }
  return 0;
};
