import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { SCOPE_LIST } from "../../../core/identity/scopes.ts";
import { World } from "../../support/world.ts";
import { keyReason, KEYS, rotate, setUser } from "./key_fixtures.ts";

Deno.test("api_keys.rotate: is refused to callers who could not give the roles of the key's creator", async () => {
  await using world = await World.open();
  await world.signUp();
  const owner = await world.signUp();
  await world.call("POST", "/api/v1/roles", {
    as: owner.token,
    body: { name: "keeper", permissions: ["system:write", "approvals:write"] },
  });
  const admin = await world.join(owner, ["admin"]);
  const peer = await world.join(owner, ["admin"]);
  const keeper = await world.join(owner, ["keeper"]);
  const scopes = ["approvals:write"];
  const code = async (id: string, as: string) => (await rotate(world, id, as)).body.error?.code;
  const ofOwner = await world.key(owner, scopes);
  const ofAdmin = await world.key(admin, scopes);
  const ofKeeper = await world.key(keeper, scopes);
  // Whoever has a key's value asks and decides as the person who made it.
  eq(await code(ofOwner.id, admin.token), "FORBIDDEN");
  eq(await code(ofAdmin.id, keeper.token), "INSUFFICIENT_SCOPES");
  const wide = await world.key(owner, SCOPE_LIST);
  const other = await world.join(owner, ["owner"]);
  const ofOther = await world.key(other, scopes);
  eq(await code(ofOther.id, wide.value), "FORBIDDEN");
  for (const { value } of [ofOwner, ofAdmin, ofOther]) eq(await keyReason(world, value), null);
  eq(await code(ofOwner.id, wide.value), undefined);
  eq(await code(ofAdmin.id, peer.token), undefined);
  eq(await code(ofKeeper.id, admin.token), undefined);
  eq(await code(ofOther.id, owner.token), undefined);
});

Deno.test("api_keys: a concurrently demoted caller neither creates nor widens a key", async () => {
  await using world = await World.open();
  await world.signUp();
  const owner = await world.signUp();
  const { token: as, ...admin } = await world.join(owner, ["admin"]);
  const key = await world.key(owner, ["agents:read"]);
  const maker = await world.join(owner, ["admin"]);
  const ofMaker = await world.key(maker, ["agents:read"]);
  const acts: [string, string, unknown][] = [
    ["POST", `${KEYS}/${ofMaker.id}/rotate`, {}],
    ["PATCH", `${KEYS}/${key.id}`, { scopes: ["agents:read", "policy:write"] }],
    ["POST", KEYS, { name: "k", scopes: ["agents:read", "policy:write"] }],
  ];
  for (const [method, path, body] of acts) {
    await setUser(world, { ...admin }, { roles: ["admin"] });
    eq((await world.call("GET", "/api/account/info", { as })).status, 200);
    // Who asks has been found out when the demotion commits, and the change has not.
    let demoted = false;
    const transacts = world.apps.map(({ store }) => {
      const { transact } = store;
      store.transact = async (work) => {
        if (!demoted) {
          demoted = true;
          await setUser(world, admin, { roles: ["viewer"] });
        }
        return await transact.call(store, work) as never;
      };
      return { store, transact };
    });
    const answer = await world.call(method, path, { as, body });
    for (const { store, transact } of transacts) store.transact = transact;
    deq([answer.status, answer.body.error?.code], [403, "INSUFFICIENT_SCOPES"], path);
  }
  eq((await world.call("GET", `${KEYS}/${key.id}`, { as: owner.token })).body.scopes.length, 1);
  eq(await keyReason(world, ofMaker.value), null);
});
