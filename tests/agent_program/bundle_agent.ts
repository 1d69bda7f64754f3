import { gzipSync } from "node:zlib";

/** The work tree of these tests. */
const HERE = new URL("../../", import.meta.url).pathname;
const FIXTURES = new URL("../fixtures/agents/", import.meta.url);

/**
 * Writes the agent of a work tree as one file that runs with Deno alone: `deno run -A <file> agent …`.
 * @throws {Error} with what the bundler printed
 */
export async function bundleAgent(output: string, root = HERE): Promise<void> {
  const entry = await Deno.makeTempFile({ suffix: ".ts" });
  const agent = JSON.stringify(`file://${root}/core/cli/agent/cli.ts`);
  await Deno.writeTextFile(
    entry,
    `import { agentCommand } from ${agent};\nDeno.exit(await agentCommand(Deno.args.slice(1)));\n`,
  );
  const config = `${root}/deno.json`;
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--minify", "--platform", "deno", "-c", config, "-o", output, entry],
    cwd: root,
    stdin: "null",
  }).output();
  await Deno.remove(entry);
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}

/**
 * Makes `tests/fixtures/agents/<name>.js.gz`: the agent of a work tree, which relays of later versions must serve.
 * A second argument is the root of another commit's work tree.
 */
async function makeFixture([name, root]: readonly string[]): Promise<void> {
  if (name === undefined || !/^[a-z0-9.-]+$/.test(name)) {
    throw new Error("Give the fixture a name: deno task fixture:agent <name> [another work tree]");
  }
  const file = await Deno.makeTempFile({ suffix: ".js" });
  await bundleAgent(file, root);
  const packed = gzipSync(await Deno.readFile(file), { level: 9 });
  await Deno.mkdir(FIXTURES, { recursive: true });
  await Deno.writeFile(new URL(`${name}.js.gz`, FIXTURES), packed);
  await Deno.remove(file);
}

if (import.meta.main) await makeFixture(Deno.args);
