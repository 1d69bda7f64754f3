import { deepStrictEqual as deq, rejects, strictEqual as eq } from "node:assert/strict";
import {
  digestOfCall,
  earlierCall,
  type KeyRecords,
  keyTaken,
  once,
} from "../../core/work/idempotency_key.ts";
import { Fault } from "../../core/fault/fault.ts";
import { type IdempotencyRecord, idempotencyRecords } from "../../kv/records/idempotency.ts";
import { DuplicateError } from "../../kv/engine/errors.ts";
import { World } from "../support/world.ts";

const KEYS: KeyRecords<IdempotencyRecord> = {
  of: idempotencyRecords,
  index: "key",
  idempotencyOf: (record) => record,
  details: ({ id }) => ({ command_id: id }),
};

Deno.test("digestOfCall: the digests of stored commands and calls keep their form", () => {
  eq(
    digestOfCall("agt_1", 60_000, false, "date"),
    "52ed879a47d4fe1ab25fb571b3c1f7a0f15e1d6f00dd09529cb7867ea35d1e24",
  );
  eq(
    digestOfCall("agents.restart", '{"id":"agt_1"}'),
    "49428823d7293ea5e86c5e0cbbef14bc11cc564dd5edb41237fc7c372cee7777",
  );
});

Deno.test("earlierCall: returns the caller's live record, and refuses another digest", async () => {
  await using world = await World.open();
  const { store } = world.app;
  const tenant = { org: "org_1", space: "live" } as const;
  const actor = { id: "usr_1", tenant };
  const expires_at_ms = world.clock.now() + 1_000;
  const record: IdempotencyRecord = {
    id: "idm_1",
    actor: "usr_1",
    key: "k",
    digest: "d",
    outcome: "begun",
    sealed: null,
    expires_at_ms,
  };
  await store.transact((tx) => tx.insert(idempotencyRecords, tenant, record));
  const find = (key: string, digest: string, id = "usr_1") =>
    earlierCall(KEYS, store, { ...actor, id }, { key, digest });
  deq(await find("k", "d"), record);
  deq([await find("other", "e"), await find("k", "e", "usr_2")], [null, null]);
  await rejects(find("k", "e"), (error: Fault) => {
    deq([error.code, error.details], ["CONFLICT", { command_id: "idm_1" }]);
    return true;
  });
  world.clock.advance(1_000);
  eq(await find("k", "e"), null);
});

Deno.test("once: a call that loses its key to a simultaneous call repeats that call's answer", async () => {
  const winner = { id: "idm_1" } as IdempotencyRecord;
  const found = [null, winner];
  const runs: string[] = [];
  const answer = await once(KEYS, {
    find: () => Promise.resolve(found.shift()!),
    repeat: ({ id }) => Promise.resolve(`as ${id}`),
    first: () => {
      runs.push("first");
      return Promise.reject(keyTaken(KEYS));
    },
  });
  deq([answer, runs, found], ["as idm_1", ["first"], []]);
});

Deno.test("once: any other error of the call is the caller's, and nothing runs again", async () => {
  const errors = [new Error("a bug"), new DuplicateError("agents", "public_key")];
  for (const error of errors) {
    let runs = 0;
    const call = once(KEYS, {
      find: () => Promise.resolve(null),
      repeat: () => Promise.resolve("unused"),
      first: () => {
        runs++;
        return Promise.reject(error);
      },
    });
    await rejects(call, error);
    eq(runs, 1);
  }
});
