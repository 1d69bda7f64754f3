import { deepStrictEqual as deq, match, ok, strictEqual as eq } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { keepCheckpoint } from "../../core/cli/agent/witness.ts";
import { verifyExport } from "../../core/events/trail/verify_export.ts";
import { type NoteKey, readKey, readStatement } from "../../core/protocol/checkpoints/note.ts";
import type { VerifyOptions } from "../../core/events/trail/verify.ts";
import { describeFinding } from "../../core/cli/remote/oversight/verdict.ts";
import { filesOf } from "../support/agent_files.ts";
import { type Account, World } from "../support/world.ts";
import { PYTHON, python } from "./verify_py.ts";
import { rawRows } from "../support/raw_rows.ts";

/** A log as one server shows it. */
interface Shown {
  readonly note: string;
  readonly publicKey: string;
  readonly key: NoteKey;
  /** The exports. Each adds a row to the next one. */
  readonly exports: readonly { readonly text: string; readonly header: string }[];
}

const EXPORTS = [
  ["application/x-ndjson", ""],
  ["application/json", ""],
  ["application/x-ndjson", "?event_type=organization_created"],
  ["application/x-ndjson", "?event_type=note"],
] as const;

/** A server's log after five more rows. */
async function show(world: World, { token: as }: Account, text: string): Promise<Shown> {
  for (let n = 0; n < 5; n++) {
    const body = { event_type: "note", details: { text, n } };
    await world.call("POST", "/api/audit/event", { as, body });
  }
  const { body: { note, public_key } } = await world.call("GET", "/api/audit/checkpoint", { as });
  const exports: { text: string; header: string }[] = [];
  for (const [accept, query] of EXPORTS) {
    world.clock.advance(1_000);
    const answer = await world.call("GET", `/api/audit/export${query}`, {
      as,
      headers: { accept },
    });
    const header = Buffer.from(answer.headers.get("x-audit-checkpoint")!, "base64").toString();
    exports.push({ text: answer.text, header });
  }
  return { note, publicKey: public_key, key: readKey(public_key)!, exports };
}

/** Two servers that continue from copies of one store, with its key and its past. */
async function fork(): Promise<Readonly<Record<"past" | "left" | "right", Shown>>> {
  await using world = await World.open();
  const owner = await world.signUp();
  const past = await show(world, owner, "past");
  await world.settle();
  const kv = await Deno.openKv(":memory:");
  for (const { key, value } of await rawRows(world.kv)) await kv.set(key, value);
  await using other = await World.open({ kv, seed: 2 });
  other.clock.nowMs = world.clock.nowMs;
  const left = await show(world, owner, "left");
  return { past, left, right: await show(other, owner, "right") };
}

const endingOf = (text: string): string => text.trimEnd().split("\n").at(-1)!;

const noteOf = (text: string): string =>
  JSON.parse(endingOf(text).replace(/^\],/, "{")).proof.checkpoint;

const sizeOf = (note: string): number => readStatement(note)!.size;

async function check(text: string, options: VerifyOptions) {
  const bytes = new TextEncoder().encode(text);
  const { finding, witness } = await verifyExport(ReadableStream.from([bytes]), options);
  return finding === null ? witness : [finding.kind, finding.first, finding.last];
}

Deno.test("relay audit verify: two logs of one size and key are a fork, whichever is witnessed", async () => {
  const { past, left, right } = await fork();
  const { key } = left;
  deq(right.key, key);
  for (const [mine, other] of [[left, right], [right, left]] as const) {
    for (const [at, { text, header }] of mine.exports.entries()) {
      const size = sizeOf(header);
      eq(await check(text, { key }), "none");
      // Two checkpoints of one log are no fork.
      ok(header !== noteOf(text));
      eq(await check(text, { key, checkpoint: header }), "consistent");
      const there = other.exports[at]!;
      for (const checkpoint of [there.header, noteOf(there.text)]) {
        eq(sizeOf(checkpoint), size);
        deq(await check(text, { key, checkpoint }), ["forked", 1, size]);
        deq(await check(text, { checkpoint }), ["forked", 1, size]);
        // A consistency proof from a size to itself does not prove the root.
        const consistency = { from: size, to: size, path: [] };
        deq(await check(text, { key, checkpoint, consistency }), ["forked", 1, size]);
      }
    }
    // At a smaller size, the export's past differs from the witnessed one.
    const [{ text }] = mine.exports.slice(1) as [Shown["exports"][number]];
    const { header: older } = other.exports[0]!;
    deq(await check(text, { key, checkpoint: older }), ["rewritten", 1, sizeOf(older)]);
    eq(await check(text, { key, checkpoint: past.note }), "consistent");
  }
  match(describeFinding({ kind: "forked", first: 1, last: 9, line: 1 }), /^forked: rows 1 to 9 /);
});

Deno.test("relay audit verify: rows of one side of a fork fail with the proof of the other", async () => {
  const { left, right } = await fork();
  const { key, publicKey } = left;
  const file = await Deno.makeTempFile();
  // The third contains only their common rows, so with the other proof it equals the other export.
  for (const at of [0, 1, 3]) {
    const { text } = left.exports[at]!, ending = endingOf(text);
    const other = endingOf(right.exports[at]!.text);
    const grafted = text.replace(ending, () => other);
    ok(other !== ending && grafted !== text);
    deq(await check(grafted, { key }), ["altered", 1, sizeOf(noteOf(text))]);
    if (!PYTHON || text.startsWith('{"events"')) continue;
    await Deno.writeTextFile(file, text);
    eq(await python(file, publicKey), null);
    await Deno.writeTextFile(file, grafted);
    eq(await python(file, publicKey), 1);
  }
  await Deno.remove(file);
});

Deno.test("checkpoint: an agent refuses the other side of a fork and keeps what it has", async () => {
  const { left, right } = await fork();
  const files = filesOf();
  const keep = ({ note, publicKey }: Shown) =>
    keepCheckpoint("", { type: "checkpoint", note, public_key: publicKey, proof: [] }, files);
  eq(sizeOf(left.note), sizeOf(right.note));
  eq(keep(left), null);
  const before = [...files.kept];
  eq(keep(right), "rewritten");
  deq([...files.kept], before);
  eq(keep(left), null);
});
