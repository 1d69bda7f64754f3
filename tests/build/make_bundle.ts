import { dirname } from "node:path";
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
  root = ROOT.pathname,
  commit = commitIn(ROOT),
): Promise<void> {
  await Deno.mkdir(dirname(output), { recursive: true });
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--minify", "--platform", "deno", "--output", output, "main.ts"],
    cwd: root,
    env: { NO_COLOR: "1" },
    stdin: "null",
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  const bundle = inAscii(await Deno.readTextFile(output));
  const filled = commit === null ? bundle : bundle.replace(UNFILLED, commit);
  if (!filled.includes(commit ?? "")) throw new Error("the bundle has no place for the commit");
  await Deno.writeTextFile(output, filled);
}

/** One character above ASCII would double the memory of the program's text, which the engine keeps: 6 MiB. */
const inAscii = (program: string): string =>
  program.replaceAll(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

if (import.meta.main) {
  const output = new URL("dist/relay.js", ROOT).pathname;
  await makeBundle(output);
  console.log(output);
}
