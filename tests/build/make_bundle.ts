import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { commitIn } from "../../core/cli/commit.ts";

/** The work tree of this file. */
export const ROOT = new URL("../../", import.meta.url);

/** What core/cli/commit.ts has in place of a commit. */
const UNFILLED = "$Format:%H$";

/**
 * Bundles the program of a work tree into one file, which depends on nothing but the files of the tree and the commit
 * that is filled in.
 * @throws {Error} with what the bundler printed
 */
export async function makeBundle(
  output: string,
  root = fileURLToPath(ROOT),
  commit = commitIn(ROOT),
): Promise<void> {
  await Deno.mkdir(dirname(output), { recursive: true });
  await bundle(root, ["--output", output]);
  await finish([output], commit);
}

/**
 * Bundles the program into a folder of files, of which a start loads only those that its command needs. It starts
 * faster than one file, which the engine reads whole.
 * @throws {Error} with what the bundler printed
 */
export async function makeChunks(
  folder: string,
  root = fileURLToPath(ROOT),
  commit = commitIn(ROOT),
): Promise<void> {
  await Deno.mkdir(folder, { recursive: true });
  // File names contain digests, so files of an earlier build would remain.
  for (const { name } of [...Deno.readDirSync(folder)]) await Deno.remove(`${folder}/${name}`);
  await bundle(root, ["--code-splitting", "--outdir", folder]);
  await finish([...Deno.readDirSync(folder)].map(({ name }) => `${folder}/${name}`), commit);
}

async function bundle(root: string, output: readonly string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--minify", "--platform", "deno", ...output, "main.ts"],
    cwd: root,
    env: { NO_COLOR: "1" },
    stdin: "null",
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}

/** Fills in the commit, and leaves only ASCII. */
async function finish(files: readonly string[], commit: string | null): Promise<void> {
  let named = commit === null;
  for (const file of files) {
    const text = inAscii(await Deno.readTextFile(file));
    const filled = commit === null ? text : text.replace(UNFILLED, commit);
    named ||= filled.includes(commit!);
    await Deno.writeTextFile(file, filled);
  }
  if (!named) throw new Error("the bundle has no place for the commit");
}

/** One character above ASCII would double the memory of the program's text, which the engine keeps: 6 MiB. */
const inAscii = (program: string): string =>
  program.replaceAll(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

if (import.meta.main) {
  const at = (name: string) => fileURLToPath(new URL(name, ROOT));
  const isInParts = Deno.args[0] === "chunks";
  if (isInParts) await makeChunks(at("dist/chunks"));
  // A relay in parts sends the bundle among them to agents.
  const bundle = at(isInParts ? "dist/chunks/relay.js" : "dist/relay.js");
  await makeBundle(bundle);
  console.log(isInParts ? at("dist/chunks/main.js") : bundle);
}
