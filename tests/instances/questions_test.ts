import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { withConfigured } from "../support/configured_agent.ts";
import { ScriptedAgent } from "../support/agent.ts";
import { rawRows } from "../support/raw_rows.ts";
import { pair } from "./pair.ts";

Deno.test("instances: an agent is asked for its state at the instance of its link", async () => {
  await using cluster = await pair();
  const { one, two, owner, value } = cluster;
  await withConfigured(one, value, async ({ folder, link, counts }) => {
    const get = async (what: string) =>
      (await two.call("GET", `/api/v1/gitops/${what}/${link.id}`, { as: owner.token })).body;
    Deno.writeTextFileSync(`${folder}/etc/a.conf`, "one");
    const drift = await get("drift");
    deq([drift.reached, drift.reported_at], [true, new Date(two.clock.nowMs).toISOString()]);
    counts.refused = 1;
    const { verdict_check } = await get("guard");
    deq([verdict_check.state, verdict_check.refused], ["refusing", 1]);
  });
});

Deno.test("instances: an agent that left its instance is found out at once to be out of reach", async () => {
  await using cluster = await pair();
  const { one, two, owner, agent } = cluster;
  const { links } = one.app;
  links.of = () => undefined;
  const path = `/api/v1/gitops/drift/${agent.id}`;
  eq((await two.call("GET", path, { as: owner.token })).body.reached, false);
});

Deno.test("instances: an instance that does not answer keeps a question for 6 s", async () => {
  await using cluster = await pair();
  const { one, two, owner, agent } = cluster;
  await one.app.inbox.stop();
  let reached: boolean | null = null;
  const asked = two.call("GET", `/api/v1/gitops/drift/${agent.id}`, { as: owner.token })
    .then(({ body }) => reached = body.reached);
  while ((await rawRows(two.kv, { org: "~", space: "inbox" })).length === 0);
  await two.quiet();
  two.clock.advance(5_999);
  await two.quiet();
  eq(reached, null);
  two.clock.advance(1);
  eq(await asked, false);
});

Deno.test("instances: a canary runs through an agent of another instance", async () => {
  await using cluster = await pair();
  const { one, two, owner, value } = cluster;
  const agent = await ScriptedAgent.connect(one, value, { name: "canary" });
  const { status, body } = await two.call("POST", "/api/shield/canary", {
    as: owner.token,
    body: { agent_id: agent.id },
  });
  deq([status, body.agent.passed, body.agent.status], [200, true, "succeeded"]);
});
