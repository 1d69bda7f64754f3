import { deepStrictEqual as deq } from "node:assert/strict";
import { faultsOfStore } from "../../support/whole_store.ts";
import { World } from "../../support/world.ts";

Deno.test("faultsOfStore: names missing, wrong and stray keys, and finds none in an intact store", async () => {
  await using world = await World.open();
  const { org, email } = await world.signUp();
  await world.settle();
  deq(await faultsOfStore(world.kv), []);
  const pointer = ["~system", "live", "users.email", email], count = [org, "live", "users#"];
  await world.kv.delete(pointer);
  await world.kv.set(count, new Deno.KvU64(2n));
  await world.kv.set([org, "live", "users.owner", "usr_gone"], new Uint8Array());
  await world.kv.set([org, "live", "blob", "blb_gone", 0], new Uint8Array(1));
  deq(await faultsOfStore(world.kv), [
    `${org} live blob blb_gone 0 is of nothing`,
    `${org} live users# is 2, not 1`,
    `${org} live users.owner usr_gone is of nothing`,
    `~system live users.email ${email} is missing`,
  ]);
});
