import assert from "node:assert/strict";
import { inspectCommand } from "../../core/shield/inspect.ts";

const CORPUS = new URL("../../../shared/data/shell-commands.jsonl", import.meta.url);

interface Labelled {
  readonly command: string;
  readonly label: "dangerous" | "safe";
}

function readCorpus(): Labelled[] | null {
  try {
    return Deno.readTextFileSync(CORPUS).trim().split("\n").map((line) =>
      JSON.parse(line) as Labelled
    );
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

Deno.test("inspectCommand: stops 97 % of a public corpus's dangerous commands and at most 3 % of its safe ones", () => {
  const corpus = readCorpus();
  if (corpus === null) {
    console.log(`The corpus ${CORPUS.pathname} is absent: nothing was measured.`);
    return;
  }
  const dangerous = corpus.filter((one) => one.label === "dangerous");
  const safe = corpus.filter((one) => one.label === "safe");
  const missed = dangerous.filter((one) => inspectCommand(one.command).verdict === "allow");
  const stopped = safe.filter((one) => inspectCommand(one.command).verdict !== "allow");
  console.log(
    `dangerous: ${
      dangerous.length - missed.length
    } of ${dangerous.length} stopped; safe: ${stopped.length} of ${safe.length} stopped`,
  );
  for (const { command } of missed) console.log(`  missed: ${command}`);
  for (const { command } of stopped) {
    console.log(`  stopped: ${command} (${inspectCommand(command).rule_ids.join(", ")})`);
  }
  assert.ok(missed.length <= dangerous.length * 0.03);
  assert.ok(stopped.length <= safe.length * 0.03);
});
