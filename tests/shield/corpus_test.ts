import assert from "node:assert/strict";
import { inspectCommand } from "../../core/shield/inspect.ts";

const CORPUS = new URL("../../../shared/data/shell-commands.jsonl", import.meta.url);

/** Why a verdict differs from the corpus's label on purpose: by a part of the command. */
const REASONS: readonly (readonly [part: string, reason: string])[] = [
  [
    "rm -rf ./build",
    "a build folder is made again by a build; the corpus calls most such folders safe",
  ],
  ["python -c", "a literal folder below /tmp is temporary, as for rm -rf"],
  ["doppler secrets download", "it prints every credential of a store: a person decides"],
  ["docker system prune", "it deletes stopped containers with what is in them: a person decides"],
  ["kubectl delete namespace", "it deletes whatever the namespace holds: a person decides"],
  ["kubectl delete all --all", "it deletes every workload of a namespace: a person decides"],
  ["curl -X POST", "its last quote is never closed, so no shell would run it as it stands"],
];

function reasonFor(command: string): string {
  return REASONS.find(([part]) => command.startsWith(part))?.[1] ?? "NO REASON IS KNOWN";
}

interface Labelled {
  readonly command: string;
  readonly label: "dangerous" | "safe";
}

const share = (count: number, all: readonly unknown[]) => (100 * count / all.length).toFixed(1);

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

const corpus = readCorpus() ?? [];

// The corpus is not part of the repository: where it is missing, the run's last line counts one test as ignored.
const ignore = corpus.length === 0;
Deno.test(
  "inspectCommand: stops 97 % of a public corpus's dangerous commands and at most 3 % of its safe ones",
  { ignore },
  () => {
    const dangerous = corpus.filter((one) => one.label === "dangerous");
    const safe = corpus.filter((one) => one.label === "safe");
    const missed = dangerous.filter((one) => inspectCommand(one.command).verdict === "allow");
    const stopped = safe.filter((one) => inspectCommand(one.command).verdict !== "allow");
    console.log(
      `dangerous: ${dangerous.length - missed.length} of ${dangerous.length} stopped (${
        share(dangerous.length - missed.length, dangerous)
      } %); safe: ${stopped.length} of ${safe.length} stopped (${share(stopped.length, safe)} %)`,
    );
    for (const { command } of missed) console.log(`  missed: ${command}: ${reasonFor(command)}`);
    for (const { command } of stopped) {
      const ids = inspectCommand(command).rule_ids.join(", ");
      console.log(`  stopped: ${command} (${ids}): ${reasonFor(command)}`);
    }
    assert.ok(missed.length <= dangerous.length * 0.03);
    assert.ok(stopped.length <= safe.length * 0.03);
  },
);
