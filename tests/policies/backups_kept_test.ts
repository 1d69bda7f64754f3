import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { backups } from "../../kv/records/backup.ts";
import { withBackups } from "./backup_fixtures.ts";
import { rawRows } from "../support/raw_rows.ts";

Deno.test("backup: the newest 20 complete and 20 failed ones are kept, counted apart", async () => {
  await withBackups(async ({ world, owner, agent, etc, backUp, restore }) => {
    const kept = async () => {
      const path = `/api/v1/gitops/backups/${agent.link.id}?limit=100`;
      const { body } = await world.call("GET", path, { as: owner.token });
      return Object.groupBy(body.backups as { id: string; status: string }[], (one) => one.status);
    };
    const first = await backUp();
    Deno.symlinkSync("/etc", `${etc}/out`);
    for (let n = 0; n < 22; n++) eq((await backUp()).status, "failed");
    await world.settle();
    const { complete, failed } = await kept();
    deq([complete?.map(({ id }) => id), failed?.length], [[first.id], 20]);

    Deno.removeSync(`${etc}/out`);
    let newest = first.id;
    for (let n = 0; n < 20; n++) newest = (await backUp()).id;
    await world.settle();
    const then = (await kept())["complete"]!.map(({ id }) => id);
    deq([then.length, then[0], then.includes(first.id)], [20, newest, false]);
    eq((await restore(then.at(-1)!)).status, "complete");
    eq((await restore(newest)).status, "complete");
  });
});

Deno.test("backup: a rehearsal of a restore drops no backup", async () => {
  await withBackups(async ({ world, owner, agent, backUp, restore }) => {
    const { id } = await backUp();
    const tenant = { org: owner.org, space: "live" } as const;
    const { store } = world.app;
    const older = (await store.get(backups, tenant, id))!;
    for (let n = 10; n < 31; n++) {
      await store.transact((tx) =>
        tx.insert(backups, tenant, { ...older, id: `bkp_0${n}`, blobs: [] })
      );
    }
    const count = () => store.countBy(backups, tenant, "agent", [agent.link.id]);
    await restore(id, true);
    await world.settle();
    eq(await count(), 22);
    await restore(id);
    await world.settle();
    eq(await count(), 20);
  });
});

Deno.test("backup: all backups go with a deleted agent, wherever the relay is killed", async () => {
  await withBackups(async ({ world, owner, agent, backUp }) => {
    const { id } = await backUp();
    const tenant = { org: owner.org, space: "live" } as const;
    const { store, transfers } = world.app;
    const one = (await store.get(backups, tenant, id))!;
    for (let n = 0; n < 250; n++) {
      await store.transact((tx) =>
        tx.insert(backups, tenant, { ...one, id: `bkp_${n}`, status: "failed", blobs: [] })
      );
    }
    // Killed after the deletion was durable and before anything followed it.
    transfers.forget = () => {};
    const path = `/api/v1/agents/${agent.link.id}`;
    eq((await world.call("DELETE", path, { as: owner.token })).status, 204);
    await world.advance(2 * 60_000);
    const left = [];
    for (const { key, kind } of await rawRows(world.kv)) {
      if (/^(backups|blob|deleted_agents)\b/.test(kind)) left.push(key);
    }
    deq(left, []);
  });
});
