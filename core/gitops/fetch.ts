import { Buffer } from "node:buffer";
import * as git from "isomorphic-git";
import { type Clock, type Outbound, OutboundError } from "../ports.ts";
import { MAX_POLICIES } from "../protocol.ts";
import { nextTurn } from "../turn.ts";
import { GitFailure, gitFailureOf, RepositoryTooLarge } from "./git_failure.ts";
import { openMemoryFiles } from "./memory_files.ts";
import { inMegabytes, type PackBounds, unfoldPack } from "./pack.ts";
import { answerOf, checkPackets, packfileOf, withHead } from "./packets.ts";

/** From the first look at the host to the last byte. */
const FETCH_MS = 20_000;
/** The list of branches and tags. */
const REFS_BYTES_MAX = 4 * 1024 * 1024;
/** The files of one commit, compressed. */
const PACK_BYTES_MAX = 16 * 1024 * 1024;
const BOUNDS: PackBounds = {
  objectsMax: 50_000,
  objectBytesMax: 16 * 1024 * 1024,
  totalBytesMax: 64 * 1024 * 1024,
};
/** The packfile, unfolded, its index and what a Git folder holds besides. */
const FILES_BYTES_MAX = PACK_BYTES_MAX + BOUNDS.totalBytesMax + 8 * 1024 * 1024;
/** Folders within the folder of policies. */
const NESTING_MAX = 8;
/** Folders and entries that are looked at: a few objects can stand for any number of folders. */
const FOLDERS_MAX = 2_000;
const ENTRIES_MAX = 50_000;
/** A path; no system takes a longer one, and the record of a version holds it. */
const PATH_CHARS_MAX = 1_024;
/** Folders that are read before others get their turn. */
const FOLDERS_A_TURN = 100;
/** One policy file; reading it takes longer than its length, when somebody means it to. */
const POLICY_FILE_BYTES_MAX = 32 * 1024;

const POLICY_FILE = /\.(ya?ml|json)$/i;
const DIR = "/clone";

/** Where policies come from. */
export interface Source {
  /** The organization that they are fetched for. */
  readonly organization: string;
  readonly url: string;
  /** The value of the Authorization header, or null. */
  readonly authorization: string | null;
  readonly branch: string;
  /** A file or a folder; empty for the whole repository. */
  readonly path: string;
}

/** A file as it stands in a commit. */
export interface PolicyFile {
  readonly path: string;
  readonly text: string;
}

/** The policy files of the last commit of a branch. */
export interface Fetched {
  readonly commit: string;
  readonly files: readonly PolicyFile[];
  /** Paths of what is not followed: symbolic links and submodules. */
  readonly links: readonly string[];
}

interface Network {
  readonly outbound: Outbound;
  readonly clock: Clock;
}

/** The last commit of a branch, without fetching it. @throws {GitFailure} */
export async function fetchHead(network: Network, source: Source): Promise<string> {
  try {
    const refs = await git.listServerRefs({
      http: httpOver(network, source, "refs"),
      url: source.url,
      headers: headersOf(source),
      prefix: `refs/heads/${source.branch}`,
    });
    const head = refs.find(({ ref }) => ref === `refs/heads/${source.branch}`);
    if (head !== undefined) return head.oid;
    throw new GitFailure("missing_branch", `The repository has no branch ${source.branch}.`);
  } catch (error) {
    throw gitFailureOf(error, source.branch);
  }
}

/**
 * Fetches the last commit of a branch into memory and reads the policy files in it.
 * @throws {GitFailure}
 */
export async function fetchPolicyFiles(network: Network, source: Source): Promise<Fetched> {
  try {
    const fs = openMemoryFiles(FILES_BYTES_MAX);
    const cache = {};
    await fs.promises.mkdir(DIR);
    await git.init({ fs, dir: DIR });
    await git.addRemote({ fs, dir: DIR, remote: "origin", url: source.url });
    const { fetchHead: commit } = await git.fetch({
      fs,
      cache,
      dir: DIR,
      http: httpOver(network, source, "packfile"),
      url: source.url,
      headers: headersOf(source),
      remote: "origin",
      ref: source.branch,
      remoteRef: `refs/heads/${source.branch}`,
      singleBranch: true,
      depth: 1,
      tags: false,
    });
    if (commit === null) {
      throw new GitFailure("empty", "The repository is empty: push a commit first.");
    }
    const clone = { fs, cache, dir: DIR };
    const { files, links } = await readFiles(clone, commit, normalPath(source.path));
    return { commit, files, links };
  } catch (error) {
    throw gitFailureOf(error, source.branch);
  }
}

/** A path as Git writes it: without slashes at its ends, empty for the whole repository. */
export const normalPath = (path: string): string =>
  path.split("/").filter((part) => part !== "" && part !== ".").join("/");

interface Clone {
  readonly fs: git.PromiseFsClient;
  readonly cache: object;
  readonly dir: string;
}

async function readFiles(
  clone: Clone,
  commit: string,
  path: string,
): Promise<Pick<Fetched, "files" | "links">> {
  const found = await lookUp(clone, commit, path);
  if (found === null) {
    throw new GitFailure("missing_path", `The commit ${commit.slice(0, 12)} has no ${path}.`);
  }
  if (found.type === "blob") return { files: [await readFile(clone, found.oid, path)], links: [] };
  const walk: Walk = { files: [], links: [], trees: new Map(), folders: 0, entries: 0 };
  await readFolder(clone, found.oid, path, 0, walk);
  return walk;
}

/** What lies at a path: a file or a folder; null for nothing, a link or a submodule. */
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

/** A symbolic link points anywhere, so none is followed. */
const isLink = ({ mode }: { mode: string }) => mode === "120000";

interface Walk {
  readonly files: PolicyFile[];
  readonly links: string[];
  /** What was read, by its hash: one folder may stand in many places. */
  readonly trees: Map<string, git.TreeObject>;
  /** What was looked at so far. */
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
      `its folders are nested more than ${NESTING_MAX} deep below the policies`,
    );
  }
  const tree = walk.trees.get(oid) ?? (await git.readTree({ ...clone, oid })).tree;
  walk.trees.set(oid, tree);
  walk.folders++;
  walk.entries += tree.length;
  if (walk.folders > FOLDERS_MAX || walk.entries > ENTRIES_MAX) {
    throw new RepositoryTooLarge(
      `more than ${FOLDERS_MAX} folders or ${ENTRIES_MAX} files lie beside the policies`,
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
      throw new GitFailure("host", `The commit has two files of one name, ${name}.`);
    }
    walk.files.push(await readFile(clone, entry.oid, name));
  }
}

async function readFile(clone: Clone, oid: string, path: string): Promise<PolicyFile> {
  const { blob } = await git.readBlob({ ...clone, oid });
  if (blob.length > POLICY_FILE_BYTES_MAX) {
    throw new RepositoryTooLarge(`${path} has more than ${POLICY_FILE_BYTES_MAX / 1024} KiB`);
  }
  return { path, text: new TextDecoder().decode(blob) };
}

const headersOf = ({ authorization }: Source): Record<string, string> =>
  authorization === null ? {} : { authorization };

/**
 * The Git library's network: the Outbound port, with one deadline over all requests of a fetch, and without
 * what could keep the library busy.
 */
function httpOver(
  { outbound, clock }: Network,
  { organization }: Source,
  wanted: "refs" | "packfile",
): git.HttpClient {
  const endsMs = clock.now() + FETCH_MS;
  return {
    async request({ url, method = "GET", headers = {}, body }) {
      const leftMs = endsMs - clock.now();
      if (leftMs <= 0) throw new OutboundError("timeout", "The fetch took too long.");
      const isPackfile = wanted === "packfile" && method === "POST";
      const keepBytes = isPackfile ? PACK_BYTES_MAX : REFS_BYTES_MAX;
      const sent = body === undefined ? undefined : await collect(body);
      const answer = await outbound.request({
        organization,
        method,
        url,
        headers,
        deadlineMs: leftMs,
        keepBytes,
        ...(sent !== undefined && { body: sent }),
      });
      if (answer.truncated) throw cutShort(answer.bytes.length, keepBytes);
      const { status, bytes } = answer;
      checkPackets(bytes);
      return {
        url,
        method,
        headers: { ...answer.headers },
        statusCode: status,
        statusMessage: "",
        body: streamOf(
          isPackfile && status === 200
            ? answerOf(await unfoldPack(packfileOf(bytes), BOUNDS))
            : [method === "GET" ? withHead(bytes) : bytes],
        ),
      };
    },
  };
}

function cutShort(bytes: number, keepBytes: number): Error {
  if (bytes < keepBytes) return new OutboundError("timeout", "The answer broke off.");
  return new RepositoryTooLarge(`one commit of it has more than ${inMegabytes(keepBytes)}`);
}

async function collect(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function* streamOf(pieces: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* pieces;
}
