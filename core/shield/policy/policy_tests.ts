import { inspectCommand } from "../inspect.ts";
import type { Policy, PolicyTest } from "./policy.ts";

/** A failed test of a policy. */
export interface FailedTest {
  /** Its index among the tests. */
  readonly at: number;
  readonly message: string;
}

/**
 * Runs the tests of a policy; `labels` are the agent's where a test names none. A hundred tests may take a second,
 * so `giveWay` runs before each and lets other requests proceed.
 */
export async function failedTests(
  policy: Policy,
  tests: readonly PolicyTest[],
  giveWay: () => Promise<void>,
  labels: Readonly<Record<string, string>> = {},
): Promise<FailedTest[]> {
  const failed: FailedTest[] = [];
  for (const [at, test] of tests.entries()) {
    await giveWay();
    const { verdict, explanation } = inspectCommand(test.command, {
      labels: test.labels ?? labels,
      policy,
      who: { userId: test.user ?? "", actorId: test.user ?? "", roles: test.roles ?? [] },
      atMs: test.at === undefined ? null : Date.parse(test.at),
    });
    if (verdict === test.expect) continue;
    const message = `expects ${test.expect}, but the verdict is ${verdict}: ${explanation}`;
    failed.push({ at, message });
  }
  return failed;
}
