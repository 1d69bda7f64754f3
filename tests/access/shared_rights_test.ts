import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { ROLES_EACH_MAX } from "../../core/access/roles/assign.ts";
import { strictKv } from "../support/kv.ts";
import { type Account, World } from "../support/world.ts";
import { exec, linkAgent } from "../support/linked_agent.ts";

/** One of several instances, on a store that takes ten checks a commit. */
const openShared = async () =>
  await World.open({ kv: strictKv(await Deno.openKv(":memory:")), sole: false });

/** Makes as many roles as one person may have, each with these permissions; their names. */
async function makeRoles(
  world: World,
  { token: as }: Account,
  permissions: readonly string[],
): Promise<string[]> {
  const names = Array.from({ length: ROLES_EACH_MAX }, (_, n) => `role-${n}`);
  for (const name of names) {
    eq(
      (await world.call("POST", "/api/v1/roles", { as, body: { name, permissions } })).status,
      201,
    );
  }
  return names;
}

Deno.test("approvals, on a shared store: the maximum of approvers approve, whatever their roles", async () => {
  await using world = await openShared();
  const here = await linkAgent(world);
  const names = await makeRoles(world, here.owner, ["approvals:write"]);
  const body = { approvals: { required: 5, roles: names.slice(0, 2) } };
  const as = here.owner.token;
  eq((await world.call("PATCH", "/api/shield/settings", { as, body })).status, 200);
  const person = await world.join(here.owner, [...names.slice(1), "owner"]);
  const asker = await world.key(person, ["agents:write"]);
  const asked = (await exec(world, here, "systemctl stop nginx", { as: asker.value })).body;
  const said: [number, string][] = [];
  for (let n = 0; n < 5; n++) {
    const { token } = await world.join(here.owner, names);
    const path = `/api/shield/approve/${asked.approval_id}`;
    const answer = await world.call("POST", path, { as: token, body: {} });
    said.push([answer.status, answer.body.status]);
  }
  deq(said, [...Array(4).fill([200, "pending"]), [200, "approved"]]);
  await world.settle();
  const path = `/api/v1/agents/${here.agent.id}/commands/${asked.command_id}`;
  eq((await world.call("GET", path, { as })).body.status, "succeeded");
});

Deno.test("rights, on a shared store: a person with the maximum of roles gives and revokes roles", async () => {
  await using world = await openShared();
  await world.signUp();
  const owner = await world.signUp();
  const names = await makeRoles(world, owner, ["system:write", "agents:admin"]);
  const { token: as } = await world.join(owner, names);
  const post = async (status: number, path: string, body: unknown, by: string | null = as) => {
    const answer = await world.call("POST", path, { as: by ?? undefined, body });
    eq(answer.status, status, `${path} ${answer.text}`);
    return answer.body;
  };
  await post(201, "/api/v1/roles", { name: "another", permissions: ["agents:admin"] });
  const { invite_code } = await post(201, "/api/v1/invitations", { roles: names });
  const newcomer = { email: "new@example.com", password: "a password", invite_code };
  const { user } = await post(201, "/api/v1/signup", newcomer, null);
  await post(200, `/api/v1/roles/${names[0]}/revoke`, { user_id: user.id });
  await post(200, `/api/v1/roles/${names[0]}/assign`, { user_id: user.id });
  await post(200, `/api/v1/users/${user.id}/deactivate`, {});
  await post(200, `/api/v1/users/${user.id}/activate`, {});
  const key = await post(201, "/api/v1/api-keys", { name: "k", scopes: ["system:write"] });
  await post(200, `/api/v1/api-keys/${key.id}/rotate`, {});
  const { pairing_code } = await post(201, "/api/devices/pairing-codes", {});
  const pairing = { device_name: "a machine", pairing_code };
  const { device_id, token } = await post(201, "/api/devices/pair", pairing, null);
  await post(200, "/api/devices/confirm", { device_id, token }, null);
});
