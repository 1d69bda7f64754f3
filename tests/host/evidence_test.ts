import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { Fault, verifyEvidence } from "../../docs/verify.ts";
import { World } from "../support/world.ts";
import { furnished, take } from "./evidence_fixtures.ts";

Deno.test("evidence: the archive is whole and both verifiers accept it", async () => {
  await using world = await World.open();
  const { owner } = await furnished(world);
  const file = await Deno.makeTempFile();
  const { key } = await take(world, owner.token, file);
  const facts = verifyEvidence(file, key);
  console.log(facts);
  await Deno.copyFile(file, "/tmp/ev.tar");
  await Deno.writeTextFile("/tmp/ev.key", key);
});
