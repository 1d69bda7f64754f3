import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { withBackups } from "./backup_fixtures.ts";

const WHY = "the requester no longer has the right to it";

Deno.test("restore: does not continue with the agent's next link when the requester was deactivated or demoted", async () => {
  for (const how of ["deactivate", "demote", "revoke"] as const) {
    await withBackups(async ({ world, owner, agent, etc, post, endOf, backUp }) => {
      const requester = await world.join(owner, ["admin"]);
      const key = await world.key(owner, ["policy:read", "policy:write"]);
      const end = {
        deactivate: [`/api/v1/users/${requester.userId}/deactivate`, {}],
        demote: ["/api/v1/roles/admin/revoke", { user_id: requester.userId }],
        revoke: [`/api/v1/api-keys/${key.id}/revoke`, {}],
      } as const;
      const backup = await backUp();
      Deno.writeTextFileSync(`${etc}/a.conf`, "changed since");
      agent.hold = true;
      const as = how === "revoke" ? key.value : requester.token;
      const started = await post("restore", { backup_id: backup.id }, as);
      eq(started.status, 202, started.text);
      agent.link.drop();
      const [path, body] = end[how];
      const ended = await world.call("POST", path, { as: owner.token, body });
      eq(ended.status, 200, ended.text);
      agent.hold = false;
      await agent.again();
      const { status, error } = await endOf("restores", started.body.id);
      deq([how, status, error], [how, "failed", WHY]);
      eq(Deno.readTextFileSync(`${etc}/a.conf`), "changed since");
    });
  }
});

Deno.test("restore: continues with the agent's next link while the requester has the right", async () => {
  await withBackups(async ({ agent, etc, post, endOf, backUp }) => {
    const backup = await backUp();
    Deno.writeTextFileSync(`${etc}/a.conf`, "changed since");
    agent.hold = true;
    const started = await post("restore", { backup_id: backup.id });
    agent.link.drop();
    agent.hold = false;
    await agent.again();
    const { status, error } = await endOf("restores", started.body.id);
    deq([status, error], ["complete", null]);
    eq(Deno.readTextFileSync(`${etc}/a.conf`), "one");
  });
});
