import { quoteWord } from "../interpreter/inner.ts";

/** Names by which code deletes a folder with all that is in it. */
export const TREE_REMOVERS: ReadonlySet<string> = new Set([
  "rmtree",
  "rm_rf",
  "rm_r",
  "remove_dir_all",
  "removeall",
  "remove_entry_secure",
  "rimraf",
  "remove_tree",
  "removesync",
  "rmsync",
  "promises.rm",
  "rmdirsync",
  "remove_dir",
  "deletedirectory",
  "deletedir",
]);

/** Names by which code deletes files or folders. */
export const REMOVERS: ReadonlySet<string> = new Set([
  ...TREE_REMOVERS,
  "os.remove",
  "os.unlink",
  "unlink",
  "unlinksync",
  "os.rmdir",
  "fs.rm",
  "fs.rmdir",
  "file.delete",
  "file.remove",
  "file::delete",
  "fileutils.rm",
  "fileutils::rm",
  "deno.remove",
  "deno.removesync",
  "os.removedirs",
  "rmdir",
  "dir.delete",
  "fs.promises.rm",
  "path.unlink",
  "removeitem",
  "delete-directory",
  "deletefile",
  "file::path",
  "rm_rf!",
  "rm!",
]);

/** Of these, names that delete one file. */
const FILE_REMOVERS = /(?:^|\.|::)(?:os\.remove|unlink|unlinksync|file(?:\.|::)delete|deletefile)$/;

/** Whether a name, or a part of it, stands for deletion. */
export function isRemover(name: string): boolean {
  return REMOVERS.has(name) || name.split(/\.|::/).some((part) => REMOVERS.has(part));
}

/** A call that deletes, as shell text: `rmtree("build")` is `rm -r build`; null where the path is not a literal. */
export function removalAt(code: string, end: number, name: string): string | null {
  FIRST_PATH.lastIndex = end;
  const path = FIRST_PATH.exec(code)?.[2];
  if (path === undefined) return removesOwnFolder(code, end) ? "" : null;
  return `rm ${FILE_REMOVERS.test(name) ? "" : "-r "}-- ${quoteWord(path)}`;
}

/** `d = mkdtemp(); rmtree(d)`: the folder is one that the code made for itself, and the name stays its name. */
function removesOwnFolder(code: string, end: number): boolean {
  if (code.length > MAKERS_MAX || !code.includes("mkdtemp")) return false;
  if (/\bmkdtemp(?:Sync)?\s*=|\bdef\s+mkdtemp/.test(code)) return false;
  ONE_NAME.lastIndex = end;
  const name = ONE_NAME.exec(code)?.[1];
  if (name === undefined) return false;
  const sets = code.match(new RegExp(`\\b${name}\\s*(?:[-+*/|&:]?=(?!=)|in\\b)`, "g")) ?? [];
  const others = new RegExp(
    `\\b(?:as|def|global|import)\\s+${name}\\b|\\b${name}\\s*,[^();\\n]{0,80}=(?!=)`,
  );
  const made = new RegExp(
    `(?:^|[;\\n{]|\\b(?:const|let|var)\\s)\\s*${name}\\s*=\\s*(?:[\\w.]+\\.)?mkdtemp(?:Sync)?\\(`,
  );
  return sets.length === 1 && made.test(code) && !others.test(code);
}

/** Longer code is not searched for the folder's origin. */
const MAKERS_MAX = 600;
const ONE_NAME = /\(\s*([A-Za-z_]\w{0,40})\s*(?:\)|,\s*\{)/y;

/** One literal that nothing changes, and options behind it; with `dir_fd` it begins elsewhere, and R's unlink takes folders. */
const FIRST_PATH =
  /\(\s*(["'])([\w./~:-][\w./~ :-]{0,500})\1\s*(?:\)|,\s*(?:\{|(?!dir_fd|recursive)\w+\s*=))/y;
