/** The commit of this program: `git archive`, `deno task bundle` and `deno task build` fill it in. */
const BAKED = "$Format:%H$";

const COMMIT = /^[0-9a-f]{40}$/;

/** The commit of this program, or the one that a checkout has; null when neither is known. Changed files do not count. */
export function commitOf(): string | null {
  if (COMMIT.test(BAKED)) return BAKED;
  // The module of a bundle is somewhere else.
  return import.meta.url.endsWith("/core/cli/commit.ts") && !Deno.build.standalone
    ? commitIn(new URL("../../", import.meta.url))
    : null;
}

/** The commit that a work tree has checked out, without running Git. */
export function commitIn(tree: URL): string | null {
  // In a linked work tree it is a file that names the folder, which names the one that all share.
  const git = folderIn(tree, ".git", /^gitdir: (.+)$/m);
  const head = textOf(new URL("HEAD", git));
  const [, ref] = /^ref: (\S+)$/m.exec(head) ?? [];
  if (ref === undefined) return COMMIT.exec(head.trim())?.[0] ?? null;
  const shared = folderIn(git, "commondir", /^(.+)$/m, git);
  for (const folder of [git, shared]) {
    const commit = textOf(new URL(ref, folder)).trim();
    if (COMMIT.test(commit)) return commit;
  }
  const packed = textOf(new URL("packed-refs", shared)).split("\n");
  const line = packed.find((line) => line.endsWith(` ${ref}`));
  return line?.split(" ")[0] ?? null;
}

/** The folder that a file names, or the folder of the file's own name; `otherwise` when there is no such file. */
function folderIn(
  parent: URL,
  name: string,
  named: RegExp,
  otherwise = new URL(`${name}/`, parent),
): URL {
  const [, path] = named.exec(textOf(new URL(name, parent))) ?? [];
  return path === undefined ? otherwise : new URL(`${path}/`, parent);
}

function textOf(file: URL): string {
  try {
    return Deno.readTextFileSync(file);
  } catch {
    return "";
  }
}
