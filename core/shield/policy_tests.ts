import { Fault } from "../fault.ts";
import { inspectCommand } from "./inspect.ts";
import type { Policy, PolicyTest } from "./policy.ts";

/** A test of a policy that fails. */
export interface FailedTest {
  /** Its place among the tests. */
  readonly at: number;
  readonly message: string;
}

/**
 * Runs the tests that a policy carries; `labels` are the agent's where a test names none.
 */
export function failedTests(
  policy: Policy,
  tests: readonly PolicyTest[],
  labels: Readonly<Record<string, string>> = {},
): FailedTest[] {
  return tests.flatMap((test, at) => {
    const { verdict, explanation } = inspectCommand(test.command, {
      labels: test.labels ?? labels,
      policy,
      who: { userId: test.user ?? "", actorId: test.user ?? "", roles: test.roles ?? [] },
      atMs: test.at === undefined ? null : Date.parse(test.at),
    });
    if (verdict === test.expect) return [];
    const message = `expects ${test.expect}, but the verdict is ${verdict}: ${explanation}`;
    return [{ at, message }];
  });
}

/** @throws {Fault} VALIDATION_FAILED with every test of the policy that fails under what will be in force */
export function mustPassTests(policy: Policy, inForce: Policy | null): void {
  const issues = failedTests(inForce ?? policy, policy.tests ?? []).map(({ at, message }) => ({
    path: `body.policy.tests.${at}`,
    message,
  }));
  if (issues.length === 0) return;
  throw new Fault("VALIDATION_FAILED", "A test of the policy fails, so it is not applied.", {
    issues,
  });
}
