import { deepStrictEqual as deq, ok } from "node:assert/strict";
import { canonicalJson } from "../../core/codec/codec.ts";
import { canonicalJson as canonicalInBrowser } from "../../console/app/proof/hashes.ts";
import { proveHead } from "../../console/app/proof/head.ts";
import { proveReport, type SignedReport } from "../../console/app/proof/report.ts";
import { proveRow, type RowProof } from "../../console/app/proof/row.ts";
import type { Kept, LogHead, Sources, Step } from "../../console/app/proof/steps.ts";
import { continues, rootOf } from "../../console/app/proof/tree.ts";
import {
  consistencyPath,
  GrowingTree,
  inclusionPath,
  leafHash,
  rangeHash,
} from "../../core/protocol/checkpoints/merkle.ts";
import { rotateKeys } from "../../core/host/secrets/rotate_keys.ts";
import { make } from "../host/compliance_fixtures.ts";
import { type Account, World } from "../support/world.ts";

/** A world with some rows, and what a browser asks it. */
async function open() {
  const world = await World.open();
  const ada = await world.signUp();
  for (let n = 0; n < 9; n++) {
    const body = { event_type: "deploy.finished", details: { n, text: "\u202e <b>é\u0000" } };
    await world.call("POST", "/api/audit/event", { as: ada.token, body });
  }
  return { world, ada, ...browserOf(world, ada) };
}

function browserOf(world: World, { token, org }: Account) {
  const get = async (path: string) => {
    const { status, body, text } = await world.call("GET", path, { as: token });
    deq(status, 200, text);
    return body;
  };
  return {
    get,
    head: (): Promise<LogHead> => get("/api/audit/checkpoint"),
    proof: (id: string): Promise<RowProof> => get(`/api/audit/proof/${id}`),
    sources: (kept: Kept | null = null): Sources => ({
      origin: `relay/${org}/live`,
      kept,
      consistency: async (from, to) =>
        (await get(`/api/audit/consistency?from=${from}&to=${to}`)).path,
    }),
  };
}

async function stepsOf(steps: AsyncIterable<Step>): Promise<readonly Step[]> {
  const found: Step[] = [];
  for await (const step of steps) found.push(step);
  return found;
}

const failedOf = (steps: readonly Step[]): string[] =>
  steps.filter(({ state }) => state === "failed").map(({ title }) => title);

/** Changes one character of a text for another of the same kind. */
function alter(text: string, at: number): string {
  const other = text[at] === "1" ? "2" : "1";
  return text.slice(0, at) + other + text.slice(at + 1);
}

Deno.test("proof: a row of the log proves, and the log only grew since the last visit", async () => {
  const { world, get, head, proof, sources } = await open();
  await using _ = world;
  const kept = await head();
  const { events } = await get("/api/audit?limit=200");
  for (const { event_id } of events) {
    const steps = await stepsOf(
      proveRow(event_id, await proof(event_id), await head(), sources(kept)),
    );
    deq(failedOf(steps), []);
    deq(steps.map(({ state }) => state), Array(7).fill("passed"));
  }
});

Deno.test("proof: an altered character of a row, a hash, a path, a root or a signature fails", async () => {
  const { world, get, head, proof, sources } = await open();
  await using _ = world;
  const { events: [other, , event] } = await get("/api/audit");
  const [good, present] = [await proof(event.event_id), await head()];
  const check = (changed: Partial<RowProof>, changedHead: Partial<LogHead> = {}) =>
    stepsOf(
      proveRow(event.event_id, { ...good, ...changed }, { ...present, ...changedHead }, sources()),
    );
  deq(failedOf(await check({})), []);
  const altered: Partial<RowProof>[] = [];
  for (let at = 0; at < good.row!.length; at += 7) altered.push({ row: alter(good.row!, at) });
  for (const [n, hash] of good.path.entries()) {
    altered.push({ path: good.path.with(n, alter(hash, 3)) });
  }
  const { note } = good.checkpoint;
  for (let at = 0; at < note.length; at++) {
    if (note[at] !== "\n") {
      altered.push({ checkpoint: { ...good.checkpoint, note: alter(note, at) } });
    }
  }
  altered.push({ leaf_hash: alter(good.leaf_hash, 3) });
  altered.push({ path: good.path.slice(1) }, { path: [...good.path, good.leaf_hash] });
  altered.push({ seq: good.seq + 1 }, { seq: good.seq + 1, leaf_index: good.leaf_index + 1 });
  for (const change of altered) {
    ok(failedOf(await check(change)).length > 0, JSON.stringify(change));
  }
  ok(failedOf(await check(await proof(other.event_id))).length > 0, "the proof of another row");
});

Deno.test("proof: a log that does not continue the kept one fails, and one that shrank too", async () => {
  const { world, head, sources } = await open();
  await using _ = world;
  const kept = await head();
  const grown = await head();
  const forked = { ...kept, note: kept.note.replace(kept.root_hash, alter(kept.root_hash, 3)) };
  deq(failedOf(await stepsOf(proveHead(grown, sources(kept)))), []);
  const GREW = "The log only grew since this browser saw it last";
  deq(failedOf(await stepsOf(proveHead(grown, sources(forked)))), [GREW]);
  deq(failedOf(await stepsOf(proveHead(kept, sources(grown)))), [GREW]);
  const other = { ...sources(kept), origin: "relay/org_2/live" };
  deq(failedOf(await stepsOf(proveHead(grown, other))), ["The checkpoint is of your log"]);
});

Deno.test("proof: after a rotation the kept key must have handed over to the present one", async () => {
  const { world, head, sources } = await open();
  await using _ = world;
  const kept = await head();
  const { app } = world;
  const rotation = { kind: "audit", organization: null, leaveBehind: false } as const;
  await rotateKeys(app.store, app, rotation, () => {});
  const rotated = await head();
  ok(rotated.public_key !== kept.public_key);
  deq(failedOf(await stepsOf(proveHead(rotated, sources(kept)))), []);
  deq(failedOf(await stepsOf(proveHead({ ...rotated, handovers: [] }, sources(kept)))), [
    "The key is the one this browser knows",
  ]);
  const [handover] = rotated.handovers;
  const broken = { ...rotated, handovers: [alter(handover!, handover!.length - 9)] };
  ok(failedOf(await stepsOf(proveHead(broken, sources(kept)))).length > 0);
});

Deno.test("proof: a report proves, and an altered one does not", async () => {
  const { world, ada, get, head, sources } = await open();
  await using _ = world;
  const { id } = await make(world, ada, "soc2", "24h");
  const report: SignedReport = await get(`/api/v1/compliance/report?id=${id}`);
  const check = async (changed: Partial<SignedReport>) =>
    failedOf(await stepsOf(proveReport({ ...report, ...changed }, await head(), sources())));
  deq(await check({}), []);
  const altered = { ...report.report, title: "Another title" };
  deq(await check({ report: altered }), ["The report's text is what was signed"]);
  deq(await check({ id: "rep_other" }), ["The note is of this report"]);
  deq(await check({ note: alter(report.note, report.note.length - 9) }), [
    "The log's key signed it",
  ]);
});

Deno.test("proof: paths of trees of all sizes up to 40 are what the relay makes", async () => {
  const leaves = Array.from({ length: 40 }, (_, n) => leafHash(`${n}`));
  const read = (level: number, index: number) => {
    const tree = new GrowingTree();
    for (const leaf of leaves.slice(index * 2 ** level, (index + 1) * 2 ** level)) tree.add(leaf);
    return Uint8Array.from(tree.root());
  };
  const texts = (hashes: readonly Uint8Array[]) => hashes.map((hash) => hash.toBase64());
  const at = async (size: number) => ({
    origin: "",
    time: "",
    size,
    root: (await rangeHash(read, 0, size)).toBase64(),
  });
  for (let size = 1; size <= leaves.length; size++) {
    const whole = await at(size);
    for (const index of [0, size >> 1, size - 1]) {
      const path = texts(await inclusionPath(read, index, size));
      deq(await rootOf(leaves[index]!.toBase64(), index, size, path), whole.root);
      ok(await rootOf(leaves[index]!.toBase64(), index, size, [...path, whole.root]) === null);
    }
    for (let from = 1; from <= size; from++) {
      const path = texts(await consistencyPath(read, from, size));
      ok(await continues(await at(from), whole, path), `${from} to ${size}`);
      const forked = { ...whole, root: leaves[0]!.toBase64() };
      ok(
        size === 1 || !await continues(await at(from), forked, path),
        `${from} to ${size}, forked`,
      );
    }
  }
});

Deno.test("proof: the browser's canonical JSON is the relay's", () => {
  const values = [
    { b: [1, 2.5, -0, 1e21, null], a: { "\u20ac": true, "\ud83d\ude00": '\u0000"' } },
    "é",
    {},
  ];
  for (const value of values) deq(canonicalInBrowser(value), canonicalJson(value));
});
