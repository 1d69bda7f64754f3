import { ok, strictEqual as eq } from "node:assert/strict";
import { contractText } from "../../support/contract.ts";

const committed = await Deno.readTextFile(new URL("../../../docs/openapi.json", import.meta.url));

Deno.test("docs/openapi.json: is what deno task docs writes", () => {
  const [had, have] = [committed.split("\n"), contractText().split("\n")];
  const at = have.findIndex((line, at) => line !== had[at]);
  const shown = `line ${at + 1} differs: committed ${had[at]}, written now ${have[at]}`;
  eq(at, -1, `${shown}. Run \`deno task docs\` and review the diff.`);
  eq(had.length, have.length);
});

Deno.test("docs/openapi.json: its members stand in alphabetical order", () => {
  const names = (value: unknown): string[][] =>
    typeof value !== "object" || value === null ? [] : [
      ...(Array.isArray(value) ? [] : [Object.keys(value)]),
      ...Object.values(value).flatMap(names),
    ];
  for (const keys of names(JSON.parse(committed))) {
    // JSON.parse puts names that are numbers first, whatever their place in the text.
    const words = keys.filter((key) => !/^\d+$/.test(key));
    ok(words.every((key, at) => at === 0 || words[at - 1]! < key), words.join());
  }
});
