import { Buffer } from "node:buffer";
import * as git from "isomorphic-git";
import { type Clock, type Outbound, OutboundError } from "../../ports/ports.ts";
import { GitFailure, gitFailureOf, RepositoryTooLarge } from "./git_failure.ts";
import { openMemoryFiles } from "./memory_files.ts";
import { inMegabytes, type PackBounds, unfoldPack } from "./pack.ts";
import { answerOf, checkPackets, packfileOf, withHead } from "./packets.ts";
import { normalPath } from "./path.ts";
import { type FilesRead, readFiles } from "./policy_files.ts";

/** The deadline for all requests of one fetch. */
const FETCH_MS = 20_000;
/** The largest list of branches and tags. */
const REFS_BYTES_MAX = 4 * 1024 * 1024;
/** The largest packfile of one commit. */
const PACK_BYTES_MAX = 16 * 1024 * 1024;
const BOUNDS: PackBounds = {
  objectsMax: 50_000,
  objectBytesMax: 16 * 1024 * 1024,
  totalBytesMax: 64 * 1024 * 1024,
};
/** Room for the packfile, its unpacked objects, its index and the other files of a Git folder. */
const FILES_BYTES_MAX = PACK_BYTES_MAX + BOUNDS.totalBytesMax + 8 * 1024 * 1024;
const DIR = "/clone";

/** Where policies come from. */
export interface Source {
  /** The organization on whose behalf they are fetched. */
  readonly organization: string;
  readonly url: string;
  /** The value of the Authorization header, or null. */
  readonly authorization: string | null;
  readonly branch: string;
  /** A file or a folder; empty for the whole repository. */
  readonly path: string;
}

/** The policy files of the last commit of a branch. */
interface Fetched extends FilesRead {
  readonly commit: string;
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
    return { commit, ...await readFiles(clone, commit, normalPath(source.path)) };
  } catch (error) {
    throw gitFailureOf(error, source.branch);
  }
}

const headersOf = ({ authorization }: Source): Record<string, string> =>
  authorization === null ? {} : { authorization };

/**
 * The HTTP client for the Git library: the Outbound port with one deadline over all requests of a fetch, and with
 * answers checked and unpacked first, because the library sets no bounds.
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
  if (bytes < keepBytes) return new OutboundError("timeout", "The response ended early.");
  return new RepositoryTooLarge(`one commit holds more than ${inMegabytes(keepBytes)}`);
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
