import { Fault } from "../../fault/fault.ts";
import { nextTurn } from "../../ports/turn.ts";
import { inspectCommand } from "../inspect.ts";
import type { Policy, PolicyTest } from "./policy.ts";

/** A test of a policy that fails. */
export interface FailedTest {
  /** Its place among the tests. */
  readonly at: number;
  readonly message: string;
}

/**
 * Runs the tests that a policy carries; `labels` are the agent's where a test names none. Others get their
 * turn after each: a hundred of them may take a second.
 */
export async function failedTests(
  policy: Policy,
  tests: readonly PolicyTest[],
  labels: Readonly<Record<string, string>> = {},
): Promise<FailedTest[]> {
  const failed: FailedTest[] = [];
  for (const [at, test] of tests.entries()) {
    await nextTurn();
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

/** @throws {Fault} VALIDATION_FAILED with every test of the policy that fails under what will be in force */
export async function mustPassTests(policy: Policy, inForce: Policy | null): Promise<void> {
  const failed = await failedTests(inForce ?? policy, policy.tests ?? []);
  const issues = failed.map(({ at, message }) => ({
    path: `body.policy.tests.${at}`,
    message,
  }));
  if (issues.length === 0) return;
  throw new Fault("VALIDATION_FAILED", "A test of the policy fails, so it is not applied.", {
    issues,
  });
}
