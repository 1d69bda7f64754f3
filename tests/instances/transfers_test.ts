import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { withConfigured } from "../support/configured_agent.ts";
import { pair } from "./pair.ts";

Deno.test("instances: a backup and a restore that are asked at another instance run at once", async () => {
  await using cluster = await pair();
  const { one, two, owner, value } = cluster;
  await withConfigured(one, value, async ({ folder, link }) => {
    const file = `${folder}/etc/a.conf`;
    const as = owner.token;
    const run = async (what: "backup" | "restore", body: unknown) => {
      const asked = await two.call("POST", `/api/v1/gitops/${what}/${link.id}`, { as, body });
      eq(asked.status, 202, asked.text);
      for (;;) {
        const path = `/api/v1/gitops/${what}s/${link.id}`;
        const { body } = await two.call("GET", path, { as });
        const job = body[`${what}s`].find(({ id }: { id: string }) => id === asked.body.id);
        if (job.status !== "running") return job;
      }
    };
    Deno.writeTextFileSync(file, "one");
    const backup = await run("backup", {});
    deq([backup.status, backup.error], ["complete", null]);
    Deno.writeTextFileSync(file, "damaged");
    const restored = await run("restore", { backup_id: backup.id });
    deq([restored.status, Deno.readTextFileSync(file)], ["complete", "one"]);
  });
});

Deno.test("instances: a backup of an agent without a link anywhere is refused at each instance", async () => {
  await using cluster = await pair();
  const { one, two, owner, agent } = cluster;
  agent.drop();
  await one.settle();
  const path = `/api/v1/gitops/backup/${agent.id}`;
  for (const world of [one, two]) {
    const { status, body } = await world.call("POST", path, { as: owner.token, body: {} });
    deq([status, body.error.code], [409, "AGENT_OFFLINE"]);
  }
});
