import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { World } from "../../support/world.ts";
import { exec } from "../../support/linked_agent.ts";
import { approve, type Here, setUp } from "./approval_fixtures.ts";
import { parse as parseYaml, stringify } from "yaml";
import { PolicyDocument } from "../../../core/policies/documents/document.ts";
import { holdsSecret } from "../../../core/agents/approvals/literal_secret.ts";
import { type Line, Proposals } from "../../../core/agents/approvals/proposals.ts";
import { Policy } from "../../../core/shield/shield.ts";
import type { Reading } from "../../../core/work/work.ts";

const ALWAYS = "systemctl stop nginx";
const ONCE_REJECTED = "systemctl stop redis && echo done";
const SELDOM = "systemctl stop cron";

/** Asks for a command; a colleague decides after some seconds. */
async function decided(world: World, here: Here, command: string, seconds: number, good = true) {
  const { status, body } = await exec(world, here, command, { as: here.admin.token });
  eq(status, 202, command);
  world.clock.advance(seconds * 1_000);
  if (good) eq((await approve(world, body.approval_id, here.colleague.token)).status, 200);
  else {
    const path = `/api/shield/reject/${body.approval_id}`;
    eq((await world.call("POST", path, { as: here.colleague.token, body: {} })).status, 200);
  }
  await world.settle();
}

const suggestions = async (world: World, as: string, query = "") =>
  await world.call("GET", `/api/shield/suggestions${query}`, { as });

Deno.test("suggestions: lines that people always approved become a policy that allows exactly these", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  for (const seconds of [5, 20, 60]) await decided(world, here, ALWAYS, seconds);
  for (const good of [true, true, true, false]) {
    await decided(world, here, ONCE_REJECTED, 1, good);
  }
  for (let n = 0; n < 2; n++) await decided(world, here, SELDOM, 1);

  const { body } = await suggestions(world, here.owner.token);
  deq([body.requests, body.complete], [9, true]);
  const { proposal, ...counts } = body.rules.find((one: { proposal: unknown }) => one.proposal);
  deq(counts.rejected + counts.expired + counts.approved, counts.held);
  eq(proposal.rules[0].id, "always-approved-1");
  deq(proposal.rules[0].match, { lines: [ALWAYS] });
  deq(proposal.tests, [{ command: ALWAYS, expect: "allow" }]);
  deq(body.rules.filter((one: { proposal: unknown }) => one.proposal).length, 1);
  eq((await exec(world, here, ALWAYS)).status, 202, "nothing is applied");

  const settings = { as: here.owner.token, body: { policy: proposal } };
  eq((await world.call("PATCH", "/api/shield/settings", settings)).status, 200);
  const verdicts = async (commands: string[]) =>
    (await world.call("POST", "/api/shield/evaluate", { as: here.owner.token, body: { commands } }))
      .body.results.map(({ verdict }: { verdict: string }) => verdict);
  const others = [`${ALWAYS} `, `sudo ${ALWAYS}`, `${ALWAYS}; ${SELDOM}`];
  deq(await verdicts([ALWAYS, ...others]), ["allow", "approve", "approve", "approve"]);
});

Deno.test("suggestions: an organization sees its own decisions, of the days that it asks for", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  for (let n = 0; n < 3; n++) await decided(world, here, ALWAYS, 1);
  const stranger = await world.signUp();
  deq((await suggestions(world, stranger.token)).body.rules, []);
  const { value: key } = await world.key(here.owner, ["approvals:read"]);
  const { body } = await suggestions(world, key, "?days=1");
  deq(
    body.rules.map((
      { held, median_seconds, slowest_seconds }: Record<string, number>,
    ) => [held, median_seconds, slowest_seconds]),
    [[3, 1, 1]],
  );
  world.clock.advance(25 * 60 * 60_000);
  deq((await suggestions(world, key, "?days=1")).body.requests, 0);
  deq((await suggestions(world, key, "?days=2")).body.requests, 3);
  eq((await suggestions(world, key, "?days=0x2")).status, 400);
});

/** The proposals for lines that were approved three times on each of these agents. */
async function proposed(texts: readonly string[], labels: Readonly<Record<string, object>> = {}) {
  const db = { get: (_of: unknown, _tenant: unknown, id: string) => ({ labels: labels[id] }) };
  const work = { db, actor: { tenant: {} } } as unknown as Reading;
  const agents = new Set(Object.keys(labels));
  const line: Line = { held: 3, approved: 3, isProposable: true, agents };
  const proposals = new Proposals(work, new Map(texts.map((text) => [text, line])));
  const found = [];
  for (let at = 0; at < texts.length; at += 50) {
    const proposal = await proposals.forLines(texts.slice(at, at + 50));
    if (proposal !== null) found.push(proposal);
  }
  return found;
}

Deno.test("Proposals: all together are one valid policy, however many and long the lines are", async () => {
  for (const padding of [1, 200, 3_000]) {
    const name = "é".repeat(padding);
    const lines = Array.from({ length: 300 }, (_, n) => `systemctl stop ${name}${n}`);
    const all = await proposed(lines, { a: { env: "test", of: "a" }, b: { env: "test", of: "b" } });
    const rules = all.flatMap((one) => one.rules);
    const tests = all.flatMap((one) => one.tests ?? []);
    Policy.parse({ rules, tests });
    const file = { name: "always-approved", rules, tests };
    const { rules: parsed } = PolicyDocument.parse(parseYaml(stringify(file)));
    eq(new Set(parsed.map(({ id }) => id)).size, parsed.length);
    eq(tests.length > 0 && tests.length <= 100, true);
    deq(parsed[0]!.match.labels, { env: "test" });
    deq(tests[0]!.labels, { env: "test" });
  }
});

Deno.test("Proposals: a line that depends on variables or holds a secret is not proposed", async () => {
  deq(await proposed(["systemctl stop $NAME", "systemctl stop $(cat name)"]), []);
  deq(await proposed(["systemctl stop nginx --password hunter2"]), []);
  for (
    const line of [
      "PGPASSWORD=x psql",
      "tool --api-key abc",
      "tool --token=abc",
      "curl -H 'Authorization: Bearer abc' https://x.example",
      "curl -u me:abc https://x.example",
      "psql postgres://me:abc@db/app",
      "mysql -pabc app",
    ]
  ) eq(holdsSecret(line), true, line);
  for (const line of ["kubectl delete secret app", "systemctl stop nginx", "docker push a/b:1"]) {
    eq(holdsSecret(line), false, line);
  }
});

Deno.test("Proposals: a line that was rejected under another rule is not proposed", async () => {
  const line: Line = { held: 4, approved: 3, isProposable: true, agents: new Set() };
  const work = { actor: { tenant: {} } } as unknown as Reading;
  eq(await new Proposals(work, new Map([[ALWAYS, line]])).forLines([ALWAYS]), null);
});
