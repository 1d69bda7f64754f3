import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { withFolder } from "../support/processes.ts";
import { ALLOWED } from "./allowed.ts";
import { configure, type Document, pathIds } from "./configure.ts";
import { startSeededRelay } from "./relay.ts";
import { hasPython, installSchemathesis, type Outcome, runSchemathesis } from "./schemathesis.ts";

/**
 * schemathesis against the document that a relay serves, with the ids of real records. It is a Python program:
 * `deno task test:contract` fetches it, and nothing of Relay depends on it.
 */
const SEED = Number(Deno.env.get("RELAY_CONTRACT_SEED") ?? 1);
const EXAMPLES = Number(Deno.env.get("RELAY_CONTRACT_EXAMPLES") ?? 40);
const ALLOWED_MAX = 5;

Deno.test({
  name: hasPython()
    ? "served document: what it allows is accepted, what it forbids refused, and every answer is as it says"
    : "served document: SKIPPED, because python3 (3.10 or later, with venv) is not there",
  ignore: !hasPython(),
  fn: () => withFolder(testDocument),
});

async function testDocument(folder: string): Promise<void> {
  ok(ALLOWED.length <= ALLOWED_MAX, "the list of what is allowed grows too long");
  const program = await installSchemathesis();
  await using relay = await startSeededRelay(folder);
  const { url, token, ids, kept } = relay;
  deq(Object.entries(ids).filter(([, values]) => values.length === 0), []);
  const served = await (await fetch(`${url}/openapi.json`)).text();
  const document: Document = JSON.parse(served);
  const outcome = await runSchemathesis(program, {
    url,
    document: served,
    token,
    folder,
    seed: SEED,
    examples: EXAMPLES,
    config: configure(ids),
    setup: { ids: pathIds(document, ids), kept, allowed: ALLOWED },
  });
  summarize(outcome, relay.complaints());
  const { report, said } = outcome;
  deq([report.failures, report.errors], [[], []], said);
  const all = Object.values(document.paths).reduce((n, path) => n + Object.keys(path).length, 0);
  eq(report.complete, true);
  deq([report.operations.tested, report.operations.total], [all, all]);
  deq(relay.complaints().filter((line) => line.includes('"level":"error"')), []);
}

function summarize({ report, explained }: Outcome, complaints: readonly string[]): void {
  const { operations, test_cases, running_time, failures, valid_rates } = report;
  const accepted = Object.values(valid_rates)
    .filter((phases) => Object.values(phases).some((rate) => rate.accepted > 0)).length;
  const lines = [
    `seed ${SEED}: ${test_cases.generated} requests in ${Math.round(running_time)} s`,
    `operations covered: ${operations.tested} of ${operations.total}; ` +
    `with a request that was accepted: ${accepted}`,
    failures.length === 0 ? "failures: none" : "failures:",
    ...failures.map(({ type, title, count, operations }) =>
      `  ${type} (${title}): ${count}, of ${operations.join(", ")}`
    ),
    "explained by `x-rules` or the list of what is allowed:",
    ...[...explained].map(([reason, times]) => `  ${times} ${reason}`),
    ...complaints.map((line) => `relay: ${line}`),
  ];
  console.log(lines.join("\n"));
}
