import * as git from "isomorphic-git";
import { MAX_POLICIES } from "../../protocol/protocol.ts";
import { nextTurn } from "../../ports/ports.ts";
import { GitFailure, RepositoryTooLarge } from "./git_failure.ts";

/** The deepest nesting of folders below the folder of policies. */
const NESTING_MAX = 8;
/** Folders and entries that are read: a few objects can describe any number of folders. */
const FOLDERS_MAX = 2_000;
const ENTRIES_MAX = 50_000;
/** The longest path; the record of a version holds it. */
const PATH_CHARS_MAX = 1_024;
/** Folders that are read before other work gets its turn. */
const FOLDERS_A_TURN = 100;
/** The largest policy file; a malicious file takes much longer to read than its size suggests. */
const POLICY_FILE_BYTES_MAX = 32 * 1024;

const POLICY_FILE = /\.(ya?ml|json)$/i;

/** A file of a commit. */
export interface PolicyFile {
  readonly path: string;
  readonly text: string;
}

/** The policy files of a commit. */
export interface FilesRead {
  readonly files: readonly PolicyFile[];
  /** Paths of symbolic links and submodules, which are not followed. */
  readonly links: readonly string[];
}

interface Clone {
  readonly fs: git.PromiseFsClient;
  readonly cache: object;
  readonly dir: string;
}

/** Reads the policy files of a commit: those in a folder and below, or the file at the path. @throws {GitFailure} */
export async function readFiles(clone: Clone, commit: string, path: string): Promise<FilesRead> {
  const found = await lookUp(clone, commit, path);
  if (found === null) {
    throw new GitFailure(
      "missing_path",
      `The commit ${commit.slice(0, 12)} does not contain ${path}.`,
    );
  }
  if (found.type === "blob") return { files: [await readFile(clone, found.oid, path)], links: [] };
  const walk: Walk = { files: [], links: [], trees: new Map(), folders: 0, entries: 0 };
  await readFolder(clone, found.oid, path, 0, walk);
  return { files: walk.files, links: walk.links };
}

/** The file or folder at a path; null for nothing, a link or a submodule. */
async function lookUp(clone: Clone, commit: string, path: string) {
  let found = { type: "tree", oid: commit };
  for (const part of path === "" ? [] : path.split("/")) {
    if (found.type !== "tree") return null;
    const { tree } = await git.readTree({ ...clone, oid: found.oid });
    const next = tree.find((entry) => entry.path === part && !isLink(entry));
    if (next === undefined) return null;
    found = next;
  }
  return found.type === "tree" || found.type === "blob" ? found : null;
}

/** Symbolic links may point anywhere, so none is followed. */
const isLink = ({ mode }: { mode: string }) => mode === "120000";

interface Walk {
  readonly files: PolicyFile[];
  readonly links: string[];
  /** Folders by hash: the same one may be in many places. */
  readonly trees: Map<string, git.TreeObject>;
  /** Folders and entries read so far. */
  folders: number;
  entries: number;
}

async function readFolder(
  clone: Clone,
  oid: string,
  path: string,
  depth: number,
  walk: Walk,
): Promise<void> {
  if (depth > NESTING_MAX) {
    throw new RepositoryTooLarge(
      `its folders are nested more than ${NESTING_MAX} levels below the policies`,
    );
  }
  const tree = walk.trees.get(oid) ?? (await git.readTree({ ...clone, oid })).tree;
  walk.trees.set(oid, tree);
  walk.folders++;
  walk.entries += tree.length;
  if (walk.folders > FOLDERS_MAX || walk.entries > ENTRIES_MAX) {
    throw new RepositoryTooLarge(
      `the path of the policies holds more than ${FOLDERS_MAX} folders or ${ENTRIES_MAX} files`,
    );
  }
  if (walk.folders % FOLDERS_A_TURN === 0) await nextTurn();
  for (const entry of tree) {
    const name = path === "" ? entry.path : `${path}/${entry.path}`;
    if (name.length > PATH_CHARS_MAX) {
      throw new RepositoryTooLarge(`a path in it has more than ${PATH_CHARS_MAX} characters`);
    }
    if (entry.type === "tree") await readFolder(clone, entry.oid, name, depth + 1, walk);
    if (entry.type === "commit" || isLink(entry)) walk.links.push(name);
    if (entry.type !== "blob" || isLink(entry) || !POLICY_FILE.test(name)) continue;
    if (walk.files.length >= MAX_POLICIES) {
      throw new RepositoryTooLarge(`it holds more than ${MAX_POLICIES} policy files`);
    }
    if (walk.files.some((file) => file.path === name)) {
      throw new GitFailure("host", `The commit has two files named ${name}.`);
    }
    walk.files.push(await readFile(clone, entry.oid, name));
  }
}

async function readFile(clone: Clone, oid: string, path: string): Promise<PolicyFile> {
  const { blob } = await git.readBlob({ ...clone, oid });
  if (blob.length > POLICY_FILE_BYTES_MAX) {
    throw new RepositoryTooLarge(`${path} is larger than ${POLICY_FILE_BYTES_MAX / 1024} KiB`);
  }
  return { path, text: new TextDecoder().decode(blob) };
}
