import { Fault } from "../../fault/fault.ts";
import { nextTurn } from "../../ports/ports.ts";
import { failedTests, type Policy } from "../../shield/shield.ts";

/**
 * Runs the tests of a policy under the policy that will be in force.
 * @throws {Fault} VALIDATION_FAILED, with an issue for each failed test
 */
export async function mustPassTests(policy: Policy, inForce: Policy | null): Promise<void> {
  const failed = await failedTests(inForce ?? policy, policy.tests ?? [], nextTurn);
  const issues = failed.map(({ at, message }) => ({
    path: `body.policy.tests.${at}`,
    message,
  }));
  if (issues.length === 0) return;
  throw new Fault(
    "VALIDATION_FAILED",
    "A test of the policy failed, so the policy was not applied.",
    {
      issues,
    },
  );
}
