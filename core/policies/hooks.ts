import { gitDeliveries, repositories, type RepositoryRecord } from "../../kv/records/gitops.ts";
import type { Found } from "../../kv/store/reader.ts";
import type { App, GitHookHeaders, Stepping } from "../work/work.ts";
import { ACCEPTED } from "../commands/ingest/receive.ts";
import { sha256Hex } from "../codec/text.ts";
import { nextTurn } from "../ports/turn.ts";
import { addressOf, pathOf } from "./git/address.ts";
import { type Proof, proofOf } from "./hook_proof.ts";
import { KEY_CHARS_MAX, type NamedRepository, registered } from "./registered.ts";

/** Those of them that have no secret; anybody can make some for an address that is not theirs. */
const UNSIGNED_MAX = 50;
/** Longer than any host tries to deliver a push. */
const DELIVERY_KEPT_MS = 3 * 24 * 60 * 60 * 1000;
/** What nobody signed makes a host be asked this often at most. */
const UNSIGNED_EVERY_MS = 10_000;
/** Where hosts write the addresses of a repository in the object that stands for it. */
const ADDRESS_FIELDS = [
  "clone_url",
  "git_http_url",
  "html_url",
  "web_url",
  "http_url",
  "url",
  "ssh_url",
  "git_ssh_url",
];
/** Pushes that are looked into after their answer; the senders of further ones wait for theirs. */
const HEARING_MAX = 100;

/** What came, whoever sent it. */
export interface PushBody {
  readonly [field: string]: unknown;
}

/** What a push says of itself. */
interface Push extends NamedRepository {
  /** Null where none is told. */
  readonly branch: string | null;
  /** True for a body that is like no other, because it names the new commit. */
  readonly unique: boolean;
}

/**
 * Hears of a push. All that ever comes of it is that a repository that is registered is looked at, with its
 * own address and credentials; the answer is always the same, and comes before anything is looked up, so
 * that its time tells nothing either.
 */
export async function receivePush(
  { app, request }: Pick<Stepping, "app" | "request">,
  body: PushBody,
  text: string,
) {
  const push = readPush(body, request.gitHook);
  if (push === null) return ACCEPTED;
  const heard = hear(app, push, request.gitHook, text).catch((error) =>
    app.ports.log.error("a push could not be heard", { error: String(error) })
  );
  app.syncs.also(heard);
  if (app.syncs.alsoRunning > HEARING_MAX) await heard;
  return ACCEPTED;
}

async function hear(app: App, push: Push, headers: GitHookHeaders, text: string): Promise<void> {
  await nextTurn();
  let unsigned = 0;
  for await (const { tenant, record } of registered(app.store, push)) {
    if (push.branch !== null && push.branch !== record.branch) continue;
    const proof = proofOf(app, record, headers, text);
    if (proof === "none" && ++unsigned > UNSIGNED_MAX) continue;
    if (proof !== null) await ask(app, { tenant, record }, marksOf(proof, push, headers, text));
    // A proof over a large body takes its time.
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

/** What may be an address in a host's own object for a repository. */
function namesOf(named: unknown): string[] {
  if (typeof named !== "object" || named === null) return [];
  const fields = named as Readonly<Record<string, unknown>>;
  return ADDRESS_FIELDS.map((field) => fields[field]).filter((name): name is string =>
    typeof name === "string" && name.length <= KEY_CHARS_MAX
  );
}

/** What makes a push known when it comes again; the body too, where no header is signed. */
function marksOf(
  proof: Proof,
  push: Push,
  { delivery, webhookId }: GitHookHeaders,
  text: string,
): Asked {
  // What nobody signed may say anything, so that it is spaced, and nothing is written for each.
  if (proof === "none") return { marks: [], eager: false, signed: false };
  if (proof === "dated") return { marks: [`id ${webhookId}`], eager: true, signed: true };
  // Who has the secret itself may say anything; and a branch that goes forth, back and forth again makes the
  // host send the same body twice.
  if (proof === "token" && delivery !== null) {
    return { marks: [`delivery ${delivery}`], eager: true, signed: true };
  }
  const marks = [
    ...(delivery === null ? [] : [`delivery ${delivery}`]),
    ...(push.unique ? [`body ${text}`] : []),
  ];
  // Without either, it may be a new push or an old one: it is heard, and spaced like an unsigned one.
  return { marks, eager: marks.length > 0, signed: true };
}

/** What a push asks for. */
interface Asked {
  readonly marks: readonly string[];
  /** True when the host is asked at once. */
  readonly eager: boolean;
  /** True when what the host says is applied; else it is only shown as pending. */
  readonly signed: boolean;
}

/** Has a repository looked at soon, once for each push. */
async function ask(
  app: App,
  { tenant, record: { id } }: Found<RepositoryRecord>,
  { marks, eager, signed }: Asked,
): Promise<void> {
  await app.store.transact(async (tx) => {
    const repository = await tx.get(repositories, tenant, id);
    if (repository === null) return;
    const now = app.ports.clock.now();
    const ids = marks.map((mark) => `${id}.${sha256Hex(mark)}`);
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
    tx.afterCommit(() => app.syncs.wakeAt(atMs));
  });
}
