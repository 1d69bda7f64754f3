import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { verifyExport } from "../../core/audit/lines.ts";
import { readKey } from "../../core/audit/note.ts";
import { World } from "../support/world.ts";

const PYTHON = ["python3", "openssl"].every((program) => {
  try {
    return new Deno.Command(program, { args: [program === "openssl" ? "version" : "--version"] })
      .outputSync().success;
  } catch {
    return false;
  }
});

/** What a check says: null when the export is whole, else the row that it names. */
async function python(file: string, key: string): Promise<number | null> {
  const args = ["docs/verify.py", file, key];
  const { success, stdout, stderr } = await new Deno.Command("python3", { args }).output();
  const said = new TextDecoder().decode(success ? stdout : stderr);
  const [, row] = /^NOT WHOLE: row (\d+)/.exec(said) ?? [];
  if (!success && row === undefined) throw new Error(said);
  return success ? null : Number(row);
}

async function ours(file: string, key: string): Promise<number | null> {
  const { readable } = await Deno.open(file);
  const { finding } = await verifyExport(readable, { key: readKey(key)! });
  return finding === null ? null : finding.first;
}

Deno.test({
  name: "docs/verify.py: says of whole and edited exports what relay audit verify says",
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
    for (const accept of ["application/json", "application/x-ndjson"]) {
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
