import { deepStrictEqual as deq, match, ok, strictEqual as eq } from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { keepCheckpoint, witnessedSize } from "../../core/cli/agent/witness.ts";
import { checkpointFrame } from "../../core/agents/links/witness.ts";
import { readHandover, signHandover } from "../../core/protocol/checkpoints/handover.ts";
import { auditKeyOf } from "../../core/events/trail/audit_keys.ts";
import { verifyExport } from "../../core/events/trail/verify_export.ts";
import {
  keyText,
  readKey,
  readStatement,
  signatureLine,
  signNote,
  statementText,
  verifiesNote,
} from "../../core/protocol/checkpoints/note.ts";
import type { VerifyOptions } from "../../core/events/trail/verify.ts";
import type { CheckpointFrame } from "../../core/protocol/protocol.ts";
import { rotateKeys } from "../../core/host/secrets/rotate_keys.ts";
import { rawPublicKey } from "../../core/protocol/statements.ts";
import { PYTHON, python } from "./verify_py.ts";
import { filesOf } from "../support/agent_files.ts";
import { shared } from "../support/kv.ts";
import { type Account, World } from "../support/world.ts";
import { make, read } from "../host/compliance_fixtures.ts";
import { eventsOf } from "../support/linked_agent.ts";

const live = ({ org }: Account) => ({ org, space: "live" } as const);

async function rotate({ app }: World, organization: string | null = null) {
  const keys = new Map<string, string>();
  const rotation = { kind: "audit", organization, leaveBehind: false } as const;
  await rotateKeys(app.store, app, rotation, (tenant, key) => keys.set(tenant, key));
  return keys;
}

/** Appends five rows and signs a checkpoint. */
async function grow(world: World, { token: as }: Account) {
  for (let n = 0; n < 5; n++) {
    const body = { event_type: n % 2 ? "note" : "deploy", details: { n } };
    await world.call("POST", "/api/audit/event", { as, body });
  }
  const { body } = await world.call("GET", "/api/audit/checkpoint", { as });
  return body as { note: string; public_key: string; tree_size: number; handovers: string[] };
}

async function exported(world: World, { token: as }: Account, query = "", json = false) {
  const accept = json ? "application/json" : "application/x-ndjson";
  return (await world.call("GET", `/api/audit/export${query}`, { as, headers: { accept } })).text;
}

const verify = async (text: string, key?: string, more: VerifyOptions = {}) =>
  await verifyExport(ReadableStream.from([new TextEncoder().encode(text)]), {
    ...more,
    ...(key !== undefined && { key: readKey(key)! }),
  });

/** The reason why an export does not verify. */
const wrong = async (text: string, key?: string, more: VerifyOptions = {}) => {
  const { finding } = await verify(text, key, more);
  return finding && (finding.why ?? finding.kind);
};

interface Proof {
  checkpoint: string;
  public_key: string;
  after: number;
  hashes: string[];
  handovers?: string[];
}

/** The same rows with another proof. */
function withProof(text: string, change: (proof: Proof) => Proof): string {
  const lines = text.trimEnd().split("\n");
  const { proof } = JSON.parse(lines.at(-1)!);
  return [...lines.slice(0, -1), JSON.stringify({ proof: change(proof) }), ""].join("\n");
}

/** A thief's key with the name of this log. */
function forge(name: string) {
  const { privateKey } = generateKeyPairSync("ed25519");
  return { name, publicKey: rawPublicKey(privateKey), privateKey };
}

const NOT_THIS = "its signature is not by this key";
const NO_CHAIN = "its key handovers are not valid";

/** A log signed by three keys in turn. */
async function threeKeys(world: World) {
  const owner = await world.signUp();
  const seen = [await grow(world, owner)];
  const old = await exported(world, owner);
  const first = await auditKeyOf(world.app, live(owner));
  for (let n = 0; n < 2; n++) {
    await rotate(world, owner.org);
    seen.push(await grow(world, owner));
  }
  const last = await auditKeyOf(world.app, live(owner));
  const keys = seen.map(({ public_key }) => public_key) as [string, string, string];
  return { owner, seen, old, keys, first, last };
}

Deno.test("keys.rotate audit: exports name the key of each range, and any of the keys verifies them", async () => {
  await using world = await World.open();
  const { owner, seen, old, keys } = await threeKeys(world);
  eq(new Set(keys).size, 3);
  deq(seen.map(({ handovers }) => handovers.length), [0, 1, 2]);
  const file = await Deno.makeTempFile();
  for (const [query, json] of [["", false], ["", true], ["?event_type=note", false]] as const) {
    const text = await exported(world, owner, query, json);
    await Deno.writeTextFile(file, text);
    for (const key of [...keys, undefined]) {
      const verdict = await verify(text, key, { checkpoint: seen[2]!.note });
      eq(verdict.finding, null);
      deq(verdict.handovers.map(({ from, to, rows }) => [keyText(from), keyText(to), rows]), [
        [keys[0], keys[1], seen[1]!.handovers.map((note) => readHandover(note)!.rows)[0]],
        [keys[1], keys[2], seen[2]!.handovers.map((note) => readHandover(note)!.rows)[1]],
      ]);
      if (PYTHON && !json && key !== undefined) eq(await python(file, key), null);
    }
    const other = await grow(world, await world.signUp());
    eq(await wrong(text, other.public_key), NOT_THIS);
    if (PYTHON && !json) ok(await python(file, other.public_key) !== null);
  }
  await Deno.remove(file);
  // Earlier exports stay verifiable by their key, and do not verify with a later one.
  eq(await wrong(old, keys[0]), null);
  eq(await wrong(old, keys[1]), NOT_THIS);
});

Deno.test("keys.rotate audit: a checkpoint by any of the keys still witnesses the log", async () => {
  await using world = await World.open();
  const { owner, seen, keys, first } = await threeKeys(world);
  const text = await exported(world, owner);
  for (const { note: checkpoint } of seen) {
    for (const key of keys) {
      const verdict = await verify(text, key, { checkpoint });
      deq([verdict.finding, verdict.witness], [null, "consistent"]);
    }
  }
  const statement = readStatement(seen[0]!.note)!;
  const signed = (size: number, root: Uint8Array) =>
    signNote(statementText({ ...statement, size, root }), first, first.privateKey);
  const rewritten = signed(statement.size, new Uint8Array(32));
  eq(await wrong(text, keys[2], { checkpoint: rewritten }), "rewritten");
  // It signs nothing after its handover, so a later signature is by a thief.
  const later = readStatement(seen[2]!.note)!;
  for (const root of [later.root, new Uint8Array(32)]) {
    const checkpoint = signed(later.size, root);
    match(
      (await wrong(text, keys[2], { checkpoint }))!,
      /^the given checkpoint was signed by a key after its handover/,
    );
  }
});

Deno.test("keys.rotate audit: a key without a handover from a trusted key is refused, also for the holder of a former one", async () => {
  await using world = await World.open();
  const { owner, seen, keys, first, last } = await threeKeys(world);
  const text = await exported(world, owner);
  const { handovers } = seen[2]!;
  const [one, two] = handovers as [string, string];
  const thief = forge(first.name);
  const time = "2026-01-01T00:00:00.000Z";
  const rows = readHandover(one)!.rows;
  const signedBy = (key: typeof thief, chain: string[] | undefined) =>
    withProof(text, ({ checkpoint, after, hashes }) => ({
      checkpoint: signNote(
        checkpoint.slice(0, checkpoint.indexOf("\n\n") + 1),
        key,
        key.privateKey,
      ),
      public_key: keyText(key),
      after,
      hashes,
      ...(chain && { handovers: chain }),
    }));
  const stolen = signHandover(first, thief, rows, time);
  const claimed = signHandover({ ...last, privateKey: first.privateKey }, thief, rows, time);
  const half = stolen.slice(0, stolen.indexOf("\n\n") + 2) +
    signatureLine(stolen.slice(0, stolen.indexOf("\n\n") + 1), first, first.privateKey).repeat(2);
  const cases: [string, string, string][] = [
    [signedBy(thief, [stolen]), keys[1], NOT_THIS],
    [signedBy(thief, [stolen]), keys[2], NOT_THIS],
    [signedBy(thief, undefined), keys[0], NOT_THIS],
    [signedBy(thief, [half]), keys[0], NO_CHAIN],
    [signedBy(thief, [...handovers, claimed]), keys[2], NO_CHAIN],
    [signedBy(thief, [...handovers, stolen]), keys[2], NO_CHAIN],
    [signedBy(thief, handovers), keys[2], NO_CHAIN],
    [withProof(text, (proof) => ({ ...proof, handovers: [two] })), keys[0], NOT_THIS],
    [withProof(text, ({ handovers: _, ...proof }) => proof), keys[1], NOT_THIS],
    [withProof(text, (proof) => ({ ...proof, handovers: [one] })), keys[2], NO_CHAIN],
    [withProof(text, (proof) => ({ ...proof, handovers: [two, one] })), keys[2], NO_CHAIN],
    [
      withProof(text, (proof) => ({
        ...proof,
        handovers: [one.replace(/\nrows \d+\n/, "\nrows 999\n"), two],
      })),
      keys[2],
      NO_CHAIN,
    ],
  ];
  const file = await Deno.makeTempFile();
  for (const [at, [forged, key, why]] of cases.entries()) {
    eq(await wrong(forged, key), why, `case ${at}`);
    if (!PYTHON) continue;
    await Deno.writeTextFile(file, forged);
    const args = ["docs/verify.py", file, key];
    const { success } = await new Deno.Command("python3", { args }).output();
    ok(!success, `case ${at}`);
  }
  await Deno.remove(file);
  // A verifier that trusts only the stolen key is deceived until a person gives it the new one.
  eq(await wrong(signedBy(thief, [stolen]), keys[0]), null);
});

Deno.test("keys.rotate audit: an export that began before a rotation ends with its first key", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const before = await grow(world, owner);
  const headers = { accept: "application/x-ndjson" };
  const response = await world.raw("GET", "/api/audit/export", { as: owner.token, headers });
  await rotate(world);
  const after = await grow(world, owner);
  const text = await response.text();
  eq(await wrong(text, before.public_key), null);
  eq(await wrong(text, after.public_key), NOT_THIS);
});

async function frameFor(world: World, owner: Account, witnessed: number): Promise<CheckpointFrame> {
  return (await checkpointFrame(world.app, live(owner), witnessed))!.frame;
}

Deno.test("keys.rotate audit: agents follow one or several handovers and never accept a former key again", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await grow(world, owner);
  const [often, seldom] = [filesOf(), filesOf()];
  const first = await frameFor(world, owner, 0);
  eq(first.handovers, undefined);
  for (const files of [often, seldom]) eq(keepCheckpoint("", first, files), null);
  const witnessed = witnessedSize("", often);
  for (let n = 0; n < 2; n++) {
    await rotate(world);
    // Earlier checkpoints are still shown with their key.
    eq((await frameFor(world, owner, 0)).public_key, often.kept.get("/audit-key")!.trim());
    await grow(world, owner);
    const frame = await frameFor(world, owner, witnessedSize("", often));
    eq(frame.handovers?.length, 1);
    eq(keepCheckpoint("", frame, often), null);
    eq(often.kept.get("/audit-key"), `${frame.public_key}\n`);
  }
  const last = await frameFor(world, owner, witnessed);
  eq(last.handovers?.length, 2);
  const kept = [...seldom.kept];
  const refusals = [
    { ...last, handovers: [] },
    { ...last, handovers: last.handovers!.slice(1) },
    { ...last, handovers: last.handovers!.toReversed() },
  ];
  for (const frame of refusals) eq(keepCheckpoint("", frame, seldom), "another_key");
  // A handover does not allow changes of the past.
  eq(keepCheckpoint("", { ...last, proof: last.proof.toReversed() }, seldom), "rewritten");
  deq([...seldom.kept], kept);
  eq(keepCheckpoint("", last, seldom), null);
  deq([...seldom.kept], [...often.kept]);
  eq(keepCheckpoint("", first, seldom), "another_key");
});

Deno.test("keys.rotate audit: each space rotates its own key, the log records it, and a report keeps its key", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const before = await grow(world, owner);
  const { id } = await make(world, owner, "soc2", "24h");
  const keys = await rotate(world);
  deq([...keys.keys()], [`${owner.org}/live`, `${owner.org}/test`]);
  const after = await grow(world, owner);
  eq(after.public_key, keys.get(`${owner.org}/live`));
  const rows = (await eventsOf(world, owner, owner.org)).filter(({ event_type }) =>
    event_type === "audit_key_rotated"
  );
  const [handover] = after.handovers as [string];
  deq(rows.map(({ actor, details }) => ({ actor, details })), [{
    actor: "operator",
    details: {
      public_key: after.public_key,
      previous: before.public_key,
      rows: readHandover(handover)!.rows,
      handover,
    },
  }]);
  const { body: report } = await read(world, owner.token, `?id=${id}`);
  for (
    const [note, key] of [
      [report.note, report.public_key],
      [report.report.log.checkpoint, report.report.log.public_key],
    ]
  ) {
    eq(key, before.public_key);
    ok(verifiesNote(note, readKey(key)!));
  }
});

Deno.test("keys.rotate audit: a running instance signs its next checkpoint with the new key", async () => {
  const kv = await Deno.openKv(":memory:");
  await using world = await World.open({ kv, sole: false });
  const owner = await world.signUp();
  const before = await grow(world, owner);
  await using other = await World.open({
    kv: shared(kv),
    sole: false,
    seed: 2,
    clock: world.clock,
  });
  const keys = await rotate(other);
  const after = await grow(world, owner);
  eq(after.public_key, keys.get(`${owner.org}/live`));
  ok(verifiesNote(after.note, readKey(after.public_key)!));
  eq(
    await wrong(await exported(world, owner), before.public_key, { checkpoint: before.note }),
    null,
  );
});

Deno.test("keys.rotate audit: a key that is replaced during a request signs no later row", async () => {
  const kv = await Deno.openKv(":memory:");
  await using world = await World.open({ kv, sole: false });
  const owner = await world.signUp();
  await using other = await World.open({
    kv: shared(kv),
    sole: false,
    seed: 2,
    clock: world.clock,
  });
  const { audit } = world.app;
  const reach = audit.reach.bind(audit);
  for (const take of [grow, exported]) {
    // The key changes and the log grows between the request and its read of the log.
    audit.reach = async (tenant) => {
      audit.reach = reach;
      await rotate(other);
      await grow(other, owner);
      return await reach(tenant);
    };
    const taken = await take(world, owner);
    const note = typeof taken === "string"
      ? JSON.parse(taken.trimEnd().split("\n").at(-1)!).proof.checkpoint
      : taken.note;
    ok(verifiesNote(note, await auditKeyOf(world.app, live(owner))));
  }
});
