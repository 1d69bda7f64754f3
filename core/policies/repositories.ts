import { type GitProvider, repositories, type RepositoryRecord } from "../../kv/records/gitops.ts";
import { adopt, credentialInHand, endingWith, madeKind, showStanding } from "../access/access.ts";
import type { Work, Writing } from "../work/work.ts";
import { emit } from "../events/events.ts";
import { Fault } from "../fault/fault.ts";
import { listPage, type Paging } from "../../kv/store/paging.ts";
import { basicAuth, iso } from "../codec/codec.ts";
import { mustBeDialable } from "../ports/ports.ts";
import { REPOSITORY } from "./standing.ts";
import { shieldInForce } from "../agents/agents.ts";
import { addressOf } from "./git/address.ts";
import { enforce } from "./enforce.ts";
import { policyEvent } from "./policy_event.ts";
import { normalPath } from "./git/path.ts";
import { setOf } from "./policy_set.ts";
import type { SyncQueue } from "./sync_schedule.ts";

/** Maximum number of repositories in one organization and space. */
const REPOSITORIES_MAX = 50;

export interface NewRepository {
  readonly name: string;
  readonly provider: GitProvider;
  readonly url: string;
  readonly branch: string;
  readonly policy_path: string;
  readonly token?: string | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly webhook_secret?: string | undefined;
  readonly sync_seconds: number | null;
}

/** The user name that goes with an access token: each host has its own custom, and most accept any name. */
const TOKEN_USERS: Readonly<Record<GitProvider, string>> = {
  github: "x-access-token",
  gitlab: "oauth2",
  gitea: "relay",
  generic: "relay",
};

/** Registers a repository; nothing is fetched yet. @throws {Fault} FORBIDDEN, VALIDATION_FAILED, CONFLICT */
export async function createRepository(work: Writing, syncs: SyncQueue, input: NewRepository) {
  const { actor, ports, sealer, tx } = work;
  const { tenant } = actor;
  const address = checkedAddress(work, input.url);
  if (await tx.count(repositories, tenant) >= REPOSITORIES_MAX) {
    const message = `There are already ${REPOSITORIES_MAX} repositories. Delete one first.`;
    throw new Fault("CONFLICT", message);
  }
  const known = await tx.find(repositories, tenant, "address", [address]);
  if (known !== null) {
    throw new Fault("CONFLICT", `This repository is already registered as ${known.name}.`, {
      id: known.id,
    });
  }
  const id = ports.entropy.id("rpo");
  const now = ports.clock.now();
  const seal = (text: string | null) => text === null ? null : sealer.seal(text, id);
  const record = tx.insert(repositories, tenant, {
    id,
    name: input.name,
    provider: input.provider,
    url: input.url,
    address,
    sealed_authorization: seal(authorizationOf(input)),
    sealed_webhook_secret: seal(input.webhook_secret ?? null),
    branch: input.branch,
    policy_path: normalPath(input.policy_path),
    sync_seconds: input.sync_seconds,
    due_at_ms: input.sync_seconds === null ? null : now,
    look_at_ms: null,
    pending: null,
    failures: 0,
    last: null,
    applied_commit: null,
    created_by: actor.userId,
    created_with: await credentialInHand(work),
    created_at_ms: now,
  });
  tx.afterCommit(() => syncs.wake());
  return await showRepository(work, record);
}

/**
 * The normalized address of a URL, by which any spelling of the URL is found.
 * @throws {Fault} VALIDATION_FAILED for a URL that may not be dialled or is not a repository's
 */
function checkedAddress(work: Writing, url: string): string {
  const refuse = (message: string): never => {
    throw new Fault("VALIDATION_FAILED", message, { issues: [{ path: "body.url", message }] });
  };
  const { protocol, search, hash } = mustBeDialable(work, url);
  if (protocol !== "https:" && !work.config().outbound.allow_private_targets) {
    return refuse("Use https for Git, so that no one can change a policy in transit.");
  }
  if (search !== "" || hash !== "") {
    return refuse("The address of a repository must not contain ? or #.");
  }
  return addressOf(url) ?? refuse("This is not the address of a Git repository.");
}

function authorizationOf({ provider, token, username, password }: NewRepository): string | null {
  if (token !== undefined) return basicAuth(TOKEN_USERS[provider], token);
  return username === undefined ? null : basicAuth(username, password ?? "");
}

/** The caller's repositories, oldest first. */
export async function listRepositories(work: Work, paging: Paging) {
  const { actor, db } = work;
  const { items, pagination } = await listPage(db, repositories, actor.tenant, paging);
  const shown = await Promise.all(items.map((each) => showRepository(work, each)));
  return { repositories: shown, pagination };
}

export async function getRepository(work: Work, id: string) {
  return await showRepository(work, await ownedRepository(work, id));
}

/** Takes over a repository that is suspended. @throws {Fault} NOT_FOUND, INSUFFICIENT_SCOPES, FORBIDDEN, CONFLICT */
export async function adoptRepository(work: Writing, syncs: SyncQueue, id: string) {
  const now = work.ports.clock.now();
  const adopted = await adopt(work, REPOSITORY, id, (repository) => ({
    ...repository,
    due_at_ms: repository.sync_seconds === null ? repository.due_at_ms : now,
  }));
  work.tx.afterCommit(() => syncs.wake());
  return await showRepository(work, adopted);
}

/** The caller's repository. @throws {Fault} NOT_FOUND */
async function ownedRepository({ db, actor }: Work, id: string): Promise<RepositoryRecord> {
  const repository = await db.get(repositories, actor.tenant, id);
  if (repository === null) throw new Fault("NOT_FOUND", "There is no such repository.");
  return repository;
}

/** The caller's repository at an address. @throws {Fault} NOT_FOUND */
export async function repositoryAt({ db, actor }: Work, url: string): Promise<RepositoryRecord> {
  const address = addressOf(url);
  const found = address && await db.find(repositories, actor.tenant, "address", [address]);
  if (found) return found;
  throw new Fault("NOT_FOUND", "No repository with this address is registered. Register it first.");
}

/**
 * Removes a repository, and with `policies` also the policies that came from it.
 * @throws {Fault} NOT_FOUND; CONFLICT without `policies` while policies from it are in force
 */
export async function deleteRepository(work: Writing, id: string, policies: boolean) {
  const { actor, tx } = work;
  const { tenant } = actor;
  const repository = await ownedRepository(work, id);
  const shield = await shieldInForce(tx, tenant);
  const { items } = shield.policies;
  const its = items.filter((item) => item.repository_id === id);
  if (its.length > 0 && !policies) {
    throw new Fault(
      "CONFLICT",
      `${its.length} policies from this repository are in force. To delete them too, send ` +
        "policies=delete.",
      { policies: its.map((item) => item.id) },
    );
  }
  tx.delete(repositories, tenant, id);
  if (its.length > 0) {
    const after = setOf(items.filter((item) => item.repository_id !== id));
    enforce(work, tx, tenant, shield, after);
    for (const item of its) {
      emit(
        work,
        tx,
        tenant,
        policyEvent("policy_deleted", item, repository.url, { user: actor.id }),
      );
    }
  }
  return { id, name: repository.name, url: repository.url };
}

/** A repository as every answer shows it. */
async function showRepository(
  { db, actor }: Pick<Work, "db" | "actor">,
  repository: RepositoryRecord,
) {
  const { id, name, provider, url, branch, policy_path, sync_seconds, last, pending } = repository;
  return {
    id,
    name,
    provider,
    url,
    branch,
    policy_path,
    has_credentials: repository.sealed_authorization !== null,
    has_webhook_secret: repository.sealed_webhook_secret !== null,
    sync_seconds,
    last_sync: last && { at: iso(last.at_ms), commit: last.commit, error: last.error },
    applied_commit: repository.applied_commit,
    pending: pending && {
      commit: pending.commit,
      seen_at: iso(pending.seen_at_ms),
      changes: pending.changes,
      changes_total: pending.changes_total,
    },
    ...await showStanding(db, actor.tenant, REPOSITORY, repository),
    created_by: repository.created_by,
    created_with: repository.created_with,
    created_at: iso(repository.created_at_ms),
  };
}

/** Repositories with their policies, as a cascade from the key that made them ends them. */
export const MADE_REPOSITORIES = madeKind({
  of: repositories,
  right: "policy:write",
  end: endingWith(
    "repository_deleted",
    "repository",
    (work, id) => deleteRepository(work, id, true),
    ({ name, url }) => ({ name, url }),
  ),
});
