import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { readStatement } from "../../core/protocol/checkpoints/note.ts";
import { World } from "../support/world.ts";

const PROGRAM = new URL("../../main.ts", import.meta.url).href;

/** Runs the program as an auditor does: no network, nothing but reading files. */
async function relay(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--no-check",
      "--unstable-cron",
      "--unstable-kv",
      "--allow-read",
      "--allow-env",
      "--allow-sys",
      "--deny-net",
      "--deny-write",
      PROGRAM,
      ...args,
    ],
    stdin: "null",
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: text(stdout), stderr: text(stderr) };
}

Deno.test("relay audit verify: the program needs the file and the key, and its exit code tells", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const as = { as: owner.token };
  const checkpoint = () => world.call("GET", "/api/audit/checkpoint", as);
  const exported = async (accept: string) =>
    (await world.call("GET", "/api/audit/export", { ...as, headers: { accept } })).text;
  for (let n = 0; n < 30; n++) {
    const body = { event_type: "note", details: { n } };
    await world.call("POST", "/api/audit/event", { ...as, body });
  }
  const older = await exported("application/x-ndjson");
  const { body: { public_key } } = await checkpoint();
  const folder = await Deno.makeTempDir({ prefix: "relay-verify-" });
  const put = async (name: string, text: string) => {
    await Deno.writeTextFile(`${folder}/${name}`, text);
    return `${folder}/${name}`;
  };
  try {
    const whole = await put("whole.ndjson", older);
    const json = await put("whole.json", await exported("application/json"));
    const key = await put("key.txt", `${public_key}\n`);
    for (const args of [[whole, "--key", public_key], [whole, "--key", key], [json], [whole]]) {
      const { code, stdout } = await relay("audit", "verify", ...args);
      deq([code, /\b3\d rows?\b/.test(stdout)], [0, true], stdout);
    }
    const lines = older.split("\n");
    const cases: [string, RegExp][] = [
      [
        lines.with(7, lines[7]!.replace('"n":', '"m":')).join("\n"),
        /row 8\b.*alter|alter.*row 8\b/,
      ],
      [lines.toSpliced(7, 1).join("\n"), /row 8\b.*missing|missing.*row 8\b/],
      [lines.slice(0, 7).join("\n"), /row 8\b/],
    ];
    for (const [text, says] of cases) {
      const { code, stdout } = await relay("audit", "verify", await put("x", text), "--key", key);
      eq(code, 1);
      ok(says.test(stdout), stdout);
    }
    const { text: witnessed } = await checkpoint();
    const kept = await put("checkpoint.json", witnessed);
    const rolledBack = await relay("audit", "verify", whole, "--key", key, "--checkpoint", kept);
    eq(rolledBack.code, 1, rolledBack.stdout);
    // An export by a filter has no root of its own at the size that was witnessed.
    const path = "/api/audit/export?event_type=note";
    const headers = { accept: "application/x-ndjson" };
    const { text: filtered } = await world.call("GET", path, { ...as, headers });
    const some = await put("some.ndjson", filtered);
    const { size } = readStatement(
      JSON.parse(filtered.trimEnd().split("\n").at(-1)!).proof.checkpoint,
    )!;
    const from = JSON.parse(witnessed).tree_size;
    const query = `from=${from}&to=${size}`;
    const { text: proof } = await world.call("GET", `/api/audit/consistency?${query}`, as);
    const witness = [some, "--key", key, "--checkpoint", kept];
    const alone = await relay("audit", "verify", ...witness);
    deq([alone.code, /NOT COMPARED/.test(alone.stdout)], [2, true]);
    const good = await put("consistency.json", proof);
    const proved = await relay("audit", "verify", ...witness, "--consistency", good);
    deq(
      [proved.code, /consistent with the given checkpoint/.test(proved.stdout)],
      [0, true],
      proved.stdout,
    );
    const other = { ...JSON.parse(proof), path: JSON.parse(proof).path.toReversed() };
    const bad = await put("other.json", JSON.stringify(other));
    eq((await relay("audit", "verify", ...witness, "--consistency", bad)).code, 1);
    const csv = await world.call("GET", path, { ...as, headers: { accept: "text/csv" } });
    const { code, stderr } = await relay("audit", "verify", await put("some.csv", csv.text));
    deq([code, /CSV is for reading/.test(stderr)], [2, true]);
    const { text: refusal } = await world.call("GET", path, { headers });
    const refused = await relay("audit", "verify", await put("refused.ndjson", refusal));
    deq([refused.code, /the relay refused the export: .*MISSING/.test(refused.stderr)], [2, true]);
    const answer = await put("query.json", (await world.call("GET", "/api/audit", as)).text);
    for (const file of [answer, await put("deno.json", "{}"), await put("line", "\n")]) {
      const { code, stderr } = await relay("audit", "verify", file);
      deq([code, /^relay: this is not an audit export of Relay: take one with/.test(stderr)], [
        2,
        true,
      ], stderr);
    }
    // What looks like a refusal was perhaps not written by a relay.
    const hidden = await put("hidden.ndjson", '{"error":{"\u001b[8m\u009b8m\u202e\r');
    const said = (await relay("audit", "verify", hidden)).stderr;
    eq(/[^\P{Cc}\n]|\p{Cf}/u.test(said), false, JSON.stringify(said));
    const misuses: [string[], RegExp][] = [
      [["verify", `${folder}/none`], /^relay: No such file/],
      [["check", whole], /^There is no command "relay audit check"/],
      // A proof from a checkpoint that was not given proves nothing.
      [["verify", some, "--key", key, "--consistency", good], /^The option --consistency needs/],
      // Of two checkpoints one would be passed over.
      [
        ["verify", whole, "--checkpoint", kept, "--checkpoint", kept],
        /^The option --checkpoint may be given only once/,
      ],
    ];
    for (const [args, says] of misuses) {
      const { code, stderr } = await relay("audit", ...args);
      deq([code, says.test(stderr)], [2, true], stderr);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
