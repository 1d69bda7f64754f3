import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { verifyExport } from "../../core/events/trail/verify_export.ts";
import { readKey } from "../../core/protocol/checkpoints/note.ts";
import { random } from "../support/random.ts";
import { World } from "../support/world.ts";
import { PYTHON, python } from "./verify_py.ts";

async function ours(file: string, key: string): Promise<number | null> {
  const { readable } = await Deno.open(file);
  const { finding } = await verifyExport(readable, { key: readKey(key)! });
  return finding === null ? null : finding.first;
}

const SEED = 20_260_702;

Deno.test({
  name: `docs/verify.py: finds one byte changed anywhere, as relay audit verify does, seed ${SEED}`,
  ignore: !PYTHON,
  fn: async () => {
    await using world = await World.open();
    const owner = await world.signUp();
    const as = { as: owner.token };
    for (let at = 0; at < 12; at++) {
      const body = { event_type: at % 3 ? "note" : "deploy", details: { at } };
      await world.call("POST", "/api/audit/event", { ...as, body });
    }
    const { body: { public_key } } = await world.call("GET", "/api/audit/checkpoint", as);
    const file = await Deno.makeTempFile();
    const dice = random(SEED);
    for (const accept of ["application/x-ndjson"]) {
      const path = "/api/audit/export?event_type=deploy";
      const { text } = await world.call("GET", path, { ...as, headers: { accept } });
      for (let n = 0; n < 16; n++) {
        const at = dice.below(text.length), end = at + dice.below(2);
        const edited = text.slice(0, at) + dice.pick(["", "!", "\n", ",", "0"]) + text.slice(end);
        if (edited === text) continue;
        await Deno.writeTextFile(file, edited);
        const args = ["docs/verify.py", file, public_key];
        const { success } = await new Deno.Command("python3", { args }).output();
        ok(!success, `${accept} at ${at}: ${edited.slice(Math.max(0, at - 40), at + 20)}`);
        ok(await ours(file, public_key) !== null);
      }
    }
    await Deno.remove(file);
  },
});

Deno.test({
  name: "docs/verify.py: agrees with relay audit verify on whole and edited exports",
  ignore: !PYTHON,
  fn: async () => {
    await using world = await World.open();
    const owner = await world.signUp();
    for (let at = 0; at < 300; at++) {
      await world.call("POST", "/api/audit/event", {
        as: owner.token,
        body: { event_type: at % 2 ? "note" : "deploy", details: { at, text: "ä€😀" } },
      });
    }
    const as = { as: owner.token };
    const { body: { public_key } } = await world.call("GET", "/api/audit/checkpoint", as);
    const other = `${public_key.split("+")[0]}+00000000+${"A".repeat(44)}`;
    const file = await Deno.makeTempFile();
    for (const accept of ["application/x-ndjson"]) {
      for (const query of ["", "?event_type=note"]) {
        const path = `/api/audit/export${query}`;
        const { text } = await world.call("GET", path, { ...as, headers: { accept } });
        await Deno.writeTextFile(file, text);
        deq([await python(file, public_key), await ours(file, public_key)], [null, null]);
        eq(await python(file, other) === null, false);
        const lines = text.split("\n");
        const edits = [
          lines.toSpliced(10, 1),
          lines.with(20, lines[20]!.replace("ä", "a")),
          lines.toSpliced(30),
          lines.with(-2, lines.at(-2)!.replace(/\\n\d+\\n/, "\\n7\\n")),
        ];
        for (const [at, edited] of edits.entries()) {
          await Deno.writeTextFile(file, edited.join("\n"));
          const [theirs, mine] = [await python(file, public_key), await ours(file, public_key)];
          eq(theirs === null || mine === null, false, `edit ${at} of ${accept}`);
          if (query === "" && at < 3) eq(theirs, mine, `edit ${at} of ${accept}`);
        }
      }
    }
    await Deno.remove(file);
  },
});
