import { ok, strictEqual as eq } from "node:assert/strict";
import { reaches, readSourceGraph } from "../support/source_graph.ts";
import { mulberry32 } from "../support/random.ts";
import { findDenokv, TOKEN } from "./denokv.ts";
import { FILES_LEFT_OUT, NAMES } from "./left_out.ts";

/** The share of the files to run: a quarter takes 45 s of one core. */
const share = Number(Deno.env.get("RELAY_CLUSTER_SHARE") ?? 0.25);
const seed = Number(Deno.env.get("RELAY_CLUSTER_SEED") ?? 32);
const whole = share === 1;
const FOLDERS =
  /^tests\/(access|agents|delivery|e2e|events|host|mcp|policies|routes)\/.*_test\.ts$/;
/** The tests that start the program itself and go through what a user does: agents, MCP, events, webhooks. */
const PROGRAM_TESTS = [
  "tests/delivery/webhooks/real_delivery_test.ts",
  "tests/e2e/agent_backup_test.ts",
  "tests/e2e/devices_test.ts",
  "tests/e2e/streams_test.ts",
  "tests/mcp/program_test.ts",
];
const PRELOAD = new URL("leave_out.ts", import.meta.url).pathname;
const CHOSEN = new URL("chosen_tests.ts", import.meta.url).pathname;

const leftOut = Object.values(FILES_LEFT_OUT).flat();

/** The test files of the areas that open a world, but those that are left out. */
async function worldTests(): Promise<string[]> {
  const graph = await readSourceGraph(["tests"]);
  return graph.files.filter((file) =>
    FOLDERS.test(file) && !leftOut.includes(file) && reaches(graph, file, "tests/support/world.ts")
  );
}

/** Some of the files, chosen by the seed. */
function someOf(files: readonly string[]): string[] {
  const unit = mulberry32(seed);
  const dice = new Map(files.map((file) => [file, unit()]));
  const byDice = files.toSorted((a, b) => dice.get(a)! - dice.get(b)!);
  return byDice.slice(0, Math.ceil(files.length * share));
}

/** Runs files on three instances, in some processes; each of their tests must pass. */
async function run(
  name: string,
  files: readonly string[],
  processes: number,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  console.log(`cluster: ${files.length} test files ${name}, RELAY_CLUSTER_SEED=${seed}`);
  const parts = Array.from(
    { length: processes },
    (_, part) => files.filter((_, at) => at % processes === part),
  );
  const ended = await Promise.all(parts.map((part) => runPart(part, env)));
  eq(ended.filter(({ code }) => code !== 0).length, 0, "some parts failed, as shown above");
  const passed = ended.map(({ text }) => Number(/ (\d+) passed/.exec(text)?.[1]));
  ok(passed.reduce((sum, n) => sum + n) > files.length, `only ${passed} tests ran`);
}

async function runPart(
  files: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ readonly code: number; readonly text: string }> {
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["test", "-A", "--no-check", "--preload", PRELOAD, CHOSEN],
    env: {
      RELAY_TEST_INSTANCES: "3",
      RELAY_CLUSTER_FILES: JSON.stringify(files),
      NO_COLOR: "1",
      ...env,
    },
    stdin: "null",
    stderr: "inherit",
  }).output();
  const text = new TextDecoder().decode(stdout);
  // The other parts may take long.
  if (code !== 0) console.log(text);
  return { code, text };
}

Deno.test("cluster: the tests of the areas pass on three instances behind a round-robin", async () => {
  await run("on a store in memory", someOf(await worldTests()), whole ? 2 : 1);
});

const denokv = await findDenokv();
if (whole && denokv === null) console.log("denokv is not on the path: its tests are skipped");

Deno.test({
  name: "cluster: the tests of the areas pass on three instances over denokv",
  ignore: !whole || denokv === null,
  async fn() {
    const files = new Set([...someOf(await worldTests()), ...PROGRAM_TESTS]);
    // Each test waits for the server most of the time.
    // Random histories, of names and of approvals, take seconds in memory and minutes over denokv.
    const env = { RELAY_TEST_DENOKV: "1", DENO_KV_ACCESS_TOKEN: TOKEN, RELAY_HISTORIES: "3" };
    await run("over denokv", [...files], 8, env);
  },
});

Deno.test("cluster: every test that is left out exists", async () => {
  const texts = await Promise.all((await worldTests()).map((file) => Deno.readTextFile(file)));
  const all = texts.join("");
  for (const name of NAMES) ok(all.includes(`Deno.test("${name}"`), name);
  for (const file of leftOut) ok((await Deno.stat(file)).isFile);
});
