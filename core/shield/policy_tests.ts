import { Fault } from "../fault.ts";
import { inspectCommand } from "./inspect.ts";
import type { Policy } from "./policy.ts";

/**
 * Runs the tests that a policy carries.
 * @throws {Fault} VALIDATION_FAILED with every test that fails
 */
export function mustPassTests(policy: Policy): void {
  const issues = (policy.tests ?? []).flatMap(({ command, labels = {}, expect }, i) => {
    const { verdict, explanation } = inspectCommand(command, { labels, policy });
    if (verdict === expect) return [];
    const message = `expects ${expect}, but the verdict is ${verdict}: ${explanation}`;
    return [{ path: `body.policy.tests.${i}`, message }];
  });
  if (issues.length === 0) return;
  throw new Fault("VALIDATION_FAILED", "A test of the policy fails, so it is not applied.", {
    issues,
  });
}
