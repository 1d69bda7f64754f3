import { deepStrictEqual as deq, ok, rejects, strictEqual as eq } from "node:assert/strict";
import { Fault, verifyEvidence } from "../../docs/verify.ts";
import { verifyExport } from "../../core/events/trail/verify_export.ts";
import { readKey } from "../../core/protocol/protocol.ts";
import { PYTHON } from "../events/verify_py.ts";
import { random } from "../support/random.ts";
import { World } from "../support/world.ts";
import { make } from "./compliance_fixtures.ts";
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
    ..."README.txt verify.py verify.ts verify_log.ts keys.json checkpoint.txt".split(" "),
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
  eq((await world.trail(owner)).at(-2), "compliance_evidence_taken");
  await Deno.remove(file);
});

/** Runs a program; returns its exit code and output. */
async function program(name: string, ...args: string[]) {
  const { code, stdout, stderr } = await new Deno.Command(name, { args }).output();
  return { code, out: new TextDecoder().decode(stdout), err: new TextDecoder().decode(stderr) };
}

Deno.test("evidence: common tools open the archive, and its own verifiers and its export check without a relay", async () => {
  await using world = await World.open();
  const { owner } = await furnished(world);
  const folder = await Deno.makeTempDir();
  const file = `${folder}/evidence.tar`;
  const { key, names } = await take(world, owner.token, file);
  const { code, err } = await program("tar", "xf", file, "-C", folder, "--warning=no-timestamp");
  deq([code, err], [0, ""]);
  for (const name of names) await Deno.stat(`${folder}/${name}`);
  const alone = ["run", "--no-remote", "--no-prompt", "--allow-read"];
  const typed = await program(Deno.execPath(), ...alone, `${folder}/verify.ts`, file, key);
  deq([typed.code, typed.out.startsWith("valid: evd_")], [0, true], typed.err);
  const other = await program(Deno.execPath(), ...alone, `${folder}/verify.ts`, file, `${key}x`);
  eq(other.code, 1, other.err);
  if (PYTHON) {
    const { code, out } = await program("python3", `${folder}/verify.py`, file, key);
    deq([code, out.startsWith("valid: evidence evd_")], [0, true]);
  }
  const { readable } = await Deno.open(`${folder}/audit/000001.ndjson`);
  const { finding } = await verifyExport(readable, { key: readKey(key)! });
  eq(finding, null);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("evidence: reports name people, keys and agents, and say what each role allows and what of a key works", async () => {
  await using world = await World.open();
  await world.signUp(); // the host
  const owner = await world.signUp();
  const clerk = await world.join(owner, ["admin"]);
  const key = await world.key(clerk, ["agents:read", "agents:write"], { name: "ci" });
  const body = { user_id: clerk.userId };
  await world.call("POST", "/api/v1/roles/viewer/assign", { as: owner.token, body });
  const demoted = await world.call("POST", "/api/v1/roles/admin/revoke", { as: owner.token, body });
  eq(demoted.status, 200, demoted.text);
  const { report } = await make(world, owner, "access-review", "24h");
  const { roles, api_keys } = report.access!;
  deq(roles!.map(({ name }) => name), ["owner", "viewer"]);
  const shown = api_keys.listed.find(({ id }) => id === key.id)!;
  deq([shown.scopes, shown.rights], [["agents:read", "agents:write"], ["agents:read"]]);
  ok(shown.remarks.includes("its creator lacks the rights for some scopes"));
  eq(report.names![clerk.userId], clerk.email);
  const page = await world.raw("GET", "/api/v1/compliance/report?format=html", { as: owner.token });
  ok((await page.text()).includes(`<span title="${clerk.userId}">${clerk.email}</span>`));
});

Deno.test("evidence: only readers of reports and of the log get it, and nobody after losing the right", async () => {
  await using world = await World.open();
  await world.signUp(); // the host
  const owner = await world.signUp();
  const path = "/api/v1/compliance/evidence?period=24h";
  const status = async (scopes: string[]) => {
    const { value } = await world.key(owner, scopes);
    const answer = await world.raw("GET", path, { as: value });
    await answer.body?.cancel();
    return answer.status;
  };
  deq(
    [await status(["audit:read"]), await status(["compliance:read"])],
    [403, 403],
  );
  deq([await status(["system:read"]), await status(["audit:read", "compliance:read"])], [200, 200]);
  const { id, value } = await world.key(owner, ["system:read"]);
  const reader = (await world.raw("GET", path, { as: value })).body!.getReader();
  ok((await reader.read()).value!.length > 0);
  await world.call("POST", `/api/v1/api-keys/${id}/revoke`, { as: owner.token });
  await rejects(async () => {
    while (!(await reader.read()).done);
  });
});

Deno.test("evidence: a reader of the log who may no longer read reports gets no more of it", async () => {
  await using world = await World.open();
  await world.signUp(); // the host
  const owner = await world.signUp();
  for (const [name, right] of [["auditor", "audit:read"], ["reporter", "compliance:read"]]) {
    const body = { name, permissions: [right] };
    eq((await world.call("POST", "/api/v1/roles", { as: owner.token, body })).status, 201);
  }
  const reader = await world.join(owner, ["auditor", "reporter"]);
  const path = "/api/v1/compliance/evidence?period=24h";
  const stream = (await world.raw("GET", path, { as: reader.token })).body!.getReader();
  ok((await stream.read()).value!.length > 0);
  const body = { user_id: reader.userId };
  await world.call("POST", "/api/v1/roles/reporter/revoke", { as: owner.token, body });
  await rejects(async () => {
    while (!(await stream.read()).done);
  });
});

const SEED = 20_261_126;

Deno.test(`evidence: one changed byte anywhere is named by both verifiers, seed ${SEED}`, async () => {
  await using world = await World.open();
  const { owner } = await furnished(world);
  const file = await Deno.makeTempFile();
  const { bytes, key } = await take(world, owner.token, file);
  const places = placesOf(bytes);
  const dice = random(SEED);
  for (let n = 0; n < 300; n++) {
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
