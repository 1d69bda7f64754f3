import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import type { Finding } from "../../core/events/trail/findings.ts";
import { verifyExport } from "../../core/events/trail/verify_export.ts";
import {
  keyText,
  readKey,
  readStatement,
  signNote,
  statementText,
} from "../../core/protocol/checkpoints/note.ts";
import { eventJson } from "../../core/events/events.ts";
import { rawPublicKey } from "../../core/protocol/statements.ts";
import { type Account, World } from "../support/world.ts";
import { mulberry32 } from "../support/random.ts";
import { rawRows } from "../support/raw_rows.ts";

const EDITS = 1_000;
/** Each edit of the stored log costs an export of it. */
const STORED_EDITS = 250;
const SEED = 20_260_101;
const live = ({ org }: Account) => ({ org, space: "live" } as const);

/** Rows of all sizes, with text that resembles members of an export. */
async function fill(world: World, owner: Account, n: number, random: () => number): Promise<void> {
  for (let at = 0; at < n; at++) {
    const type = at % 3 === 0 ? "note" : "deploy";
    const details = { at, text: `"seq":${at},"leaf_hash":"ä€😀` + "x".repeat(random() * 40) };
    const json = eventJson({ ...world.app, actor: { id: "somebody" } }, live(owner), {
      type,
      resource: { type: "external", id: "somebody" },
      details,
    });
    await world.app.store.append(live(owner), type, json);
    // Segments of different lengths.
    if (random() < 0.1) await world.app.log.flush();
  }
}

async function exported(
  world: World,
  { token }: Account,
  type = "application/x-ndjson",
  query = "",
) {
  const options = { as: token, headers: { accept: type } };
  return (await world.call("GET", `/api/audit/export${query}`, options)).text;
}

async function checkpointOf(world: World, { token }: Account) {
  const { status, text, body } = await world.call("GET", "/api/audit/checkpoint", { as: token });
  eq(status, 200, text + JSON.stringify(world.logged.slice(-2)));
  return { note: body.note as string, key: readKey(body.public_key)! };
}

async function* chunksOf(text: string, size = 50_000): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const check = async (text: string, options = {}) => (await verifyExport(chunksOf(text), options));
const named = ({ finding }: { finding: Finding | null }) =>
  finding === null ? null : [finding.kind, finding.first];

/** Replaces one character of a line by another of the same kind. */
function change(line: string, random: () => number): string {
  for (;;) {
    const at = Math.floor(random() * line.length);
    const other = /\d/.test(line[at]!) ? `${(Number(line[at]) + 1) % 10}` : "q";
    if (line[at] !== other && !/[\ud800-\udfff]/.test(line[at]!)) {
      return line.slice(0, at) + other + line.slice(at + 1);
    }
  }
}

/** One random edit of an export's rows and the expected finding. */
function edit(rows: readonly string[], random: () => number): [string[], (string | number)[]] {
  const pick = (n: number) => Math.floor(random() * n);
  const at = pick(rows.length), out = [...rows];
  switch (pick(4)) {
    case 0:
      out[at] = change(rows[at]!, random);
      return [out, ["altered", at + 1]];
    case 1:
      out.splice(at, 1);
      return [out, ["missing", at + 1]];
    case 2: {
      const from = pick(rows.length);
      const copied = random() < 0.5;
      out.splice(at, 0, copied ? rows[from]! : change(rows[at]!, random));
      return [out, ["added", copied ? from + 1 : at + 1]];
    }
    default: {
      const other = (at + 1 + pick(rows.length - 1)) % rows.length;
      [out[at], out[other]] = [rows[other]!, rows[at]!];
      return [out, ["swapped", Math.min(at, other) + 1]];
    }
  }
}

Deno.test(`relay audit verify: names each of ${EDITS} random edits of an export, seed ${SEED}`, async () => {
  const random = mulberry32(SEED);
  await using world = await World.open();
  const owner = await world.signUp();
  await fill(world, owner, 400, random);
  const { key } = await checkpointOf(world, owner);
  for (const type of ["application/x-ndjson", "application/json"]) {
    const text = await exported(world, owner, type);
    deq(named(await check(text, { key })), null);
    const lines = text.trimEnd().split("\n");
    const json = type.endsWith("/json");
    const ending = lines.pop()!;
    const head = json ? [lines.shift()!] : [];
    const rows = lines.map((line) => json ? line.replace(/,$/, "") : line);
    const join = (rows: readonly string[]) =>
      [...head, rows.join(json ? ",\n" : "\n"), ending, ""].join("\n");
    eq(join(rows), text);
    for (let n = 0; n < EDITS / 2; n++) {
      const [edited, expected] = edit(rows, random);
      const verdict = await check(join(edited), { key });
      deq(named(verdict), expected, `edit ${n} of ${type}: ${JSON.stringify(verdict.finding)}`);
    }
    for (let n = 0; n < 50; n++) {
      const kept = Math.floor(random() * rows.length);
      const cut = [...head, ...rows.slice(0, kept).map((row) => json ? `${row},` : row), ""].join(
        "\n",
      );
      deq(named(await check(cut, { key })), ["truncated", kept + 1]);
      deq(named(await check(join(rows.slice(0, kept)), { key }))?.[1], kept + 1);
      const bytes = Math.floor(random() * (text.length - 1)) + 1;
      ok(named(await check(text.slice(0, bytes), { key })) !== null);
      const wrong = await check(join(rows).replace(ending, change(ending, random)), { key });
      ok(wrong.finding !== null);
    }
  }
});

Deno.test("relay audit verify: a change of a row and its hashes is detected by the tile or the root", async () => {
  const random = mulberry32(SEED + 1);
  await using world = await World.open();
  const owner = await world.signUp();
  await fill(world, owner, 600, random);
  const { key } = await checkpointOf(world, owner);
  const lines = (await exported(world, owner)).split("\n");
  const { leafHash } = await import("../../core/protocol/checkpoints/merkle.ts");
  for (const at of [0, 100, 300, 580]) {
    const row = JSON.parse(lines[at]!);
    const [front] = /^\{"seq":\d+,"leaf_hash":"[^"]*",("tile_hash":"[^"]*",)?/.exec(lines[at]!)!;
    const content = `{${lines[at]!.slice(front.length)}`.replace(row.event_id, crypto.randomUUID());
    const forged = front.replace(row.leaf_hash, leafHash(content).toBase64()) + content.slice(1);
    const verdict = await check(lines.with(at, forged).join("\n"), { key });
    const { kind, first, last } = verdict.finding!;
    eq(kind, "altered");
    ok(first <= at + 1 && last! >= at + 1);
    if (at < 512) eq(last! - first, 255);
  }
});

Deno.test("relay audit verify: a newer checkpoint reveals truncation, rollback and a rewritten past", async () => {
  const random = mulberry32(SEED + 2);
  await using world = await World.open();
  const owner = await world.signUp();
  await fill(world, owner, 300, random);
  const old = await exported(world, owner);
  const first = await checkpointOf(world, owner);
  await fill(world, owner, 50, random);
  const now = await exported(world, owner);
  const newer = await checkpointOf(world, owner);
  const { key } = first;
  eq((await check(now, { key, checkpoint: first.note })).witness, "consistent");
  const { size } = readStatement(JSON.parse(old.trimEnd().split("\n").at(-1)!).proof.checkpoint)!;
  deq(named(await check(old, { key })), null);
  deq(named(await check(old, { key, checkpoint: newer.note })), ["rolled_back", size + 1]);
  // A server that rewrote its past and signed it.
  const statement = readStatement(first.note)!;
  const { privateKey } = generateKeyPairSync("ed25519");
  const stolen = { name: key.name, publicKey: rawPublicKey(privateKey) };
  const other = { ...statement, root: statement.root.toReversed() };
  const forged = signNote(statementText(other), stolen, privateKey);
  deq(named(await check(now, { key, checkpoint: forged })), ["proof", 1]);
  const resigned = now.replace(/"checkpoint":"(?:[^"\\]|\\.)*"/, () => {
    const mine = readStatement(JSON.parse(now.trimEnd().split("\n").at(-1)!).proof.checkpoint)!;
    return `"checkpoint":${JSON.stringify(signNote(statementText(mine), stolen, privateKey))}`;
  }).replace(/"public_key":"[^"]*"/, `"public_key":"${keyText(stolen)}"`);
  deq(named(await check(resigned, { key }))?.[0], "proof");
  deq(named(await check(resigned, { key: stolen })), null);
  deq(named(await check(resigned, { key: stolen, checkpoint: forged })), ["rewritten", 1]);
});

Deno.test("audit.export: hashes prove the rows that a filter omits, and a removed or altered row is detected", async () => {
  const random = mulberry32(SEED + 3);
  await using world = await World.open();
  const owner = await world.signUp();
  await fill(world, owner, 600, random);
  const { key } = await checkpointOf(world, owner);
  for (
    const query of ["?event_type=note", "?event_type=nothing", "?event_type=organization_created"]
  ) {
    for (const type of ["application/x-ndjson", "application/json"]) {
      const text = await exported(world, owner, type, query);
      const verdict = await check(text, { key });
      deq(verdict.finding, null);
      eq(verdict.rows, query.endsWith("note") ? 200 : query.endsWith("created") ? 1 : 0);
    }
  }
  const lines = (await exported(world, owner, "application/x-ndjson", "?event_type=note")).split(
    "\n",
  );
  for (const at of [0, 1, 57, 198]) {
    const { seq } = JSON.parse(lines[at]!);
    deq(named(await check(lines.toSpliced(at, 1).join("\n"), { key })), ["missing", seq]);
    const changed = lines.with(at, lines[at]!.replace('"at":', '"at":9'));
    deq(named(await check(changed.join("\n"), { key })), ["altered", seq]);
  }
});

Deno.test(`audit.export: names each of ${STORED_EDITS} random edits of the stored log, seed ${SEED}`, async () => {
  const random = mulberry32(SEED + 4);
  const pick = (n: number) => Math.floor(random() * n);
  await using world = await World.open();
  const owner = await world.signUp();
  const reader = { ...owner, token: (await world.key(owner, ["audit:read"])).value };
  await fill(world, owner, 300, random);
  const { key } = await checkpointOf(world, owner);
  const segments = await rawRows<Uint8Array>(world.kv, {
    org: owner.org,
    space: "live",
    kind: "log",
  });
  const end = 303;
  // The exports add rows too, which must not lengthen later exports.
  world.clock.advance(2 * 60 * 60 * 1000);
  const until = "?end_time=2030-01-01T00:30:00Z";
  for (let n = 0; n < STORED_EDITS;) {
    const { key: place, value } = segments[pick(segments.length)]!;
    const first = place.at(-1) as number;
    const rows = new TextDecoder().decode(value).split("\n");
    const at = pick(rows.length), out = [...rows];
    let expected: (string | number)[] = ["missing", first + at];
    switch (pick(4)) {
      case 0:
        out[at] = rows[at]!.replace('"organization_id":"o', '"organization_id":"x');
        expected = ["altered", first + at];
        break;
      case 1:
        out.splice(at, 1);
        break;
      case 2:
        // Nothing after the last row escapes the verification.
        if (first + at >= end) continue;
        out.splice(at, 0, rows[at]!.replace('"organization_id":"o', '"organization_id":"y'));
        expected = ["added", first + at];
        break;
      default: {
        const other = pick(rows.length);
        if (other === at) continue;
        [out[at], out[other]] = [rows[other]!, rows[at]!];
        expected = ["swapped", first + Math.min(at, other)];
      }
    }
    if (out.length === 0) await world.kv.delete(place);
    else await world.kv.set(place, new TextEncoder().encode(out.join("\n")));
    const verdict = await check(await exported(world, reader, undefined, until), { key });
    deq(named(verdict), expected, `edit ${n}: ${JSON.stringify(verdict.finding)}`);
    await world.kv.set(place, value);
    n++;
  }
});
