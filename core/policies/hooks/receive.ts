import { hash } from "node:crypto";
import { gitDeliveries, repositories, type RepositoryRecord } from "../../../kv/records/gitops.ts";
import type { Found } from "../../../kv/store/reader.ts";
import type { GitHookHeaders, RequestInfo } from "../../identity/identity.ts";
import type { Context } from "../../context/context.ts";
import { type Background, nextTurn } from "../../ports/ports.ts";
import { ACCEPTED } from "../../agents/agents.ts";
import { addressOf, pathOf } from "../git/address.ts";
import type { SyncQueue } from "../sync_schedule.ts";
import { type Proof, proofOf } from "./proof.ts";
import {
  CLONE_FIELDS,
  KEY_CHARS_MAX,
  type NamedRepository,
  PAGE_FIELDS,
  registered,
} from "./registrations.ts";

/** Registrations without a secret that one push may wake: anybody can register an address that is not theirs. */
const UNSIGNED_MAX = 50;
/** Longer than any host keeps retrying the delivery of a push. */
const DELIVERY_KEPT_MS = 3 * 24 * 60 * 60 * 1000;
/** Unsigned pushes cause at most one request to the host in this time. */
const UNSIGNED_EVERY_MS = 10_000;
/** Pushes that are processed after their answer; the answer to any further push waits until it is processed. */
const IN_BACKGROUND_MAX = 100;
/** The name of the background task that processes a push. */
const TASK = "the processing of a push";

/** The parts of the relay that a push uses. */
interface HookParts extends Pick<Context, "store" | "ports" | "sealer"> {
  readonly syncs: SyncQueue;
}

/** The body of a push, from anybody. */
export interface PushBody {
  readonly [field: string]: unknown;
}

/** The repository and branch that a push names. */
interface Push extends NamedRepository {
  /** Null when the push names none. */
  readonly branch: string | null;
  /** True for a body that names the new commit, so that no other push has the same body. */
  readonly unique: boolean;
}

/**
 * Takes a push. Its only effect is a sync of registered repositories, with their own address and credentials.
 * The answer is always the same and comes before any look-up, so that neither it nor its timing tells whether
 * a repository is registered.
 */
export async function receivePush(
  work: Pick<Context, "store" | "ports" | "sealer"> & { readonly request: RequestInfo },
  { syncs, background }: { readonly syncs: SyncQueue; readonly background: Background },
  body: PushBody,
  text: string,
) {
  const headers = work.request.gitHook;
  const push = readPush(body, headers);
  if (push === null) return ACCEPTED;
  const parts = { ...work, syncs };
  const processed = background.run(TASK, () => processPush(parts, push, headers, text));
  if (background.count(TASK) > IN_BACKGROUND_MAX) await processed;
  return ACCEPTED;
}

async function processPush(
  parts: HookParts,
  push: Push,
  headers: GitHookHeaders,
  text: string,
): Promise<void> {
  await nextTurn();
  let unsigned = 0;
  for await (const { tenant, record } of registered(parts.store, push)) {
    if (push.branch !== null && push.branch !== record.branch) continue;
    const proof = proofOf(parts, record, headers, text);
    if (proof === "none" && ++unsigned > UNSIGNED_MAX) continue;
    if (proof !== null) {
      await requestSync(parts, { tenant, record }, requestFor(proof, push, headers, text));
    }
    // Checking the signature of a large body takes long.
    await nextTurn();
  }
}

const PUSH_EVENTS = ["push", "Push Hook", "System Hook"];

function readPush(body: PushBody, { event }: GitHookHeaders): Push | null {
  const { repository, project, ref } = body;
  const said = event ?? body["event"] ?? body["object_kind"];
  if (typeof said !== "string" || !PUSH_EVENTS.includes(said)) return null;
  if (said === "System Hook" && body["object_kind"] !== "push") return null;
  const unique = typeof (body["after"] ?? body["checkout_sha"]) === "string";
  const branch = typeof ref === "string" ? /^refs\/heads\/(.+)$/.exec(ref)?.[1] ?? "" : null;
  if (typeof repository === "string") {
    if (repository.length > KEY_CHARS_MAX) return null;
    const address = addressOf(repository);
    const path = address === null ? pathOf(repository) : null;
    return { addresses: address === null ? [] : [address], path, branch, unique };
  }
  const found = [repository, project].flatMap(namesOf).flatMap((name) => addressOf(name) ?? []);
  return { addresses: [...new Set(found)], path: null, branch, unique };
}

/** Candidate addresses in a host's own object for a repository. */
function namesOf(named: unknown): string[] {
  if (typeof named !== "object" || named === null) return [];
  const fields = named as Readonly<Record<string, unknown>>;
  return [...CLONE_FIELDS, ...PAGE_FIELDS].map((field) => fields[field]).filter((
    name,
  ): name is string => typeof name === "string" && name.length <= KEY_CHARS_MAX);
}

/** The sync that a push with this proof may request, and the marks that identify a repetition of the push. */
function requestFor(
  proof: Proof,
  push: Push,
  { delivery, webhookId }: GitHookHeaders,
  text: string,
): SyncRequest {
  // Anybody can make an unsigned push, so syncs are spaced out and no mark is stored.
  if (proof === "none") return { marks: [], eager: false, signed: false };
  if (proof === "dated") return { marks: [`id ${webhookId}`], eager: true, signed: true };
  // The sender holds the secret itself, so its delivery id is as good as a signature. The body does not
  // serve as a mark: a branch that moves forward, back and forward again sends the same body twice.
  if (proof === "token" && delivery !== null) {
    return { marks: [`delivery ${delivery}`], eager: true, signed: true };
  }
  const marks = [
    ...(delivery === null ? [] : [`delivery ${delivery}`]),
    ...(push.unique ? [`body ${text}`] : []),
  ];
  // Without a mark, a new push and a repetition look alike, so syncs are spaced out as for an unsigned push.
  return { marks, eager: marks.length > 0, signed: true };
}

/** A sync that a push requests. */
interface SyncRequest {
  readonly marks: readonly string[];
  /** True when the sync starts at once. */
  readonly eager: boolean;
  /** True when the sync applies what it finds; otherwise it only records it as pending. */
  readonly signed: boolean;
}

/** Makes a repository due soon, once for each push. */
async function requestSync(
  { store, ports, syncs }: HookParts,
  { tenant, record: { id } }: Found<RepositoryRecord>,
  { marks, eager, signed }: SyncRequest,
): Promise<void> {
  await store.transact(async (tx) => {
    const repository = await tx.get(repositories, tenant, id);
    if (repository === null) return;
    const now = ports.clock.now();
    const ids = marks.map((mark) => `${id}.${hash("sha256", mark)}`);
    const seen = await Promise.all(ids.map((each) => tx.get(gitDeliveries, tenant, each)));
    if (seen.some((delivery) => delivery !== null)) return;
    for (const each of ids) {
      tx.put(gitDeliveries, tenant, { id: each, expires_at_ms: now + DELIVERY_KEPT_MS });
    }
    const spaced = Math.max(now, (repository.last?.at_ms ?? 0) + UNSIGNED_EVERY_MS);
    const field = signed ? "due_at_ms" : "look_at_ms";
    const atMs = Math.min(eager ? now : spaced, repository[field] ?? Infinity);
    if (atMs === repository[field] && ids.length === 0) return;
    tx.put(repositories, tenant, { ...repository, [field]: atMs });
    tx.afterCommit(() => syncs.wakeAt(atMs));
  });
}
