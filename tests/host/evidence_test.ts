import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { Fault, verifyEvidence } from "../../docs/verify.ts";
import { PYTHON } from "../events/verify_py.ts";
import { random } from "../support/random.ts";
import { World } from "../support/world.ts";
import { furnished, placesOf, python, take } from "./evidence_fixtures.ts";

/** The file that the verifier in TypeScript names; null for a whole archive. */
function named(file: string, key: string): string | null {
  try {
    verifyEvidence(file, key);
    return null;
  } catch (error) {
    ok(error instanceof Fault, String(error));
    return error.file;
  }
}

Deno.test("evidence: the archive is whole, and both verifiers accept it", async () => {
  await using world = await World.open();
  const { owner } = await furnished(world);
  const file = await Deno.makeTempFile();
  const { key, headers, names } = await take(world, owner.token, file);
  eq(headers.get("content-type"), "application/x-tar");
  ok(/filename="evidence-[\d-]+-to-[\d-]+\.tar"/.test(headers.get("content-disposition")!));
  const types = ["soc2", "iso27001", "hipaa", "pci", "access-review", "commands"];
  deq(names, [
    ..."README.txt verify.py verify.ts keys.json checkpoint.txt".split(" "),
    "checkpoints.ndjson",
    "witnesses.ndjson",
    ...types.flatMap((type) => [`reports/${type}.json`, `reports/${type}.html`]),
    "audit/000001.ndjson",
    "receipts/000001.ndjson",
    "manifest.txt",
  ]);
  const facts = verifyEvidence(file, key);
  deq([facts.reports, facts.receipts, facts.receipts_unproven], [6, 2, 0]);
  deq([facts.rows, facts.checkpoints > 0], [facts.log_rows, true]);
  eq(facts.witnesses, 1);
  if (PYTHON) eq(await python(file, key), null);
  const { list } = await new Deno.Command("tar", { args: ["tf", file] }).output()
    .then(({ stdout }) => ({ list: new TextDecoder().decode(stdout).trimEnd().split("\n") }));
  deq(list, names);
  eq((await world.trail(owner)).at(-2), "compliance_evidence_taken");
  await Deno.remove(file);
});

const SEED = 20_261_126;

Deno.test(`evidence: one changed byte anywhere is named by both verifiers, seed ${SEED}`, async () => {
  await using world = await World.open();
  const { owner } = await furnished(world);
  const file = await Deno.makeTempFile();
  const { bytes, key } = await take(world, owner.token, file);
  const places = placesOf(bytes);
  const dice = random(SEED);
  for (let n = 0; n < 400; n++) {
    // Half of them anywhere, the others in a header or file of any size.
    const chosen = dice.pick(places);
    const at = dice.chance(0.5) ? dice.below(bytes.length) : chosen.at + dice.below(chosen.size);
    const { name } = places.find((one) => at >= one.at && at < one.at + one.size)!;
    const changed = bytes.slice();
    changed[at]! ^= 1 << dice.below(8);
    await Deno.writeFile(file, changed);
    eq(named(file, key), name, `byte ${at}`);
    if (PYTHON && n % 16 === 0) eq(await python(file, key), name, `byte ${at}`);
  }
  await Deno.remove(file);
});
