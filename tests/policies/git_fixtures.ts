import { strictEqual as eq } from "node:assert/strict";
import { createHmac } from "node:crypto";
import { type Account, World } from "../support/world.ts";
import { type FakeHost, openFakeHost } from "./fake_host.ts";

/** A world with a Git host and one registered repository. */
export interface GitWorld {
  readonly owner: Account;
  readonly host: FakeHost;
  readonly repositoryId: string;
  apply(more?: Record<string, unknown>): ReturnType<World["call"]>;
  get(path: string): ReturnType<World["call"]>;
}

/** Registers a fake host's repository for a new organization. */
export async function withRepository(
  world: World,
  more: Record<string, unknown> = {},
  account?: Account,
  url?: string,
): Promise<GitWorld> {
  const host = await openFakeHost(url);
  world.network.reply = (request) => host.reply(request);
  const owner = account ?? await world.signUp();
  const as = owner.token;
  const body = { name: "policies", provider: "generic", url: host.url, ...more };
  const made = await world.call("POST", "/api/v1/gitops/repos", { as, body });
  eq(made.status, 201, made.text);
  // Waits for the sync that the registration starts, so that it does not interfere.
  for (const { syncs } of world.apps) await syncs.idle();
  return {
    owner,
    host,
    repositoryId: made.body.id,
    apply: (input = {}) =>
      world.call("POST", "/api/v1/gitops/apply", {
        as,
        body: { repo_url: host.url, branch: "main", policy_path: "policies", ...input },
      }),
    get: (path) => world.call("GET", `/api/v1/gitops/${path}`, { as }),
  };
}

/** Delays the answers to the next fetches, each until it is released. */
export function holdFetches(world: World, host: FakeHost, count: number) {
  const held = Array.from({ length: count }, () => ({
    asked: Promise.withResolvers<void>(),
    go: Promise.withResolvers<void>(),
  }));
  let fetches = 0;
  world.network.reply = async (request) => {
    const answer = host.reply(request);
    const one = request.method === "POST" ? held[fetches++] : undefined;
    one?.asked.resolve();
    await one?.go.promise;
    return answer;
  };
  return held.map(({ asked, go }) => ({ asked: asked.promise, go: go.resolve }));
}

/** A policy that forbids one program. */
export const forbidding = (program: string, more = ""): string =>
  `rules:\n  - id: no-${program}\n    match: { commands: [${program}] }\n    verdict: deny\n${more}`;

/** An apply as its dry run shows it: what it would create has no id yet. */
export function asPlanned<A extends { plan: readonly Step[]; policy_id: string | null }>(
  applied: A,
): A {
  const plan = applied.plan.map((step) =>
    step.action === "create" ? { ...step, policy_id: null } : step
  );
  const created = applied.plan.some(({ action, policy_id }) =>
    action === "create" && policy_id === applied.policy_id
  );
  return { ...applied, plan, policy_id: created ? null : applied.policy_id };
}

interface Step {
  readonly action: string;
  readonly policy_id: string | null;
}

/** The secret of a repository whose pushes `pushSigned` sends. */
export const HOOK_SECRET = "a secret of the hook";

/** Sends a push to Relay, signed with the repository's secret. */
export async function pushSigned(world: World, { host }: GitWorld, after?: string): Promise<void> {
  const body = JSON.stringify({ event: "push", repository: host.url, after });
  const signature = createHmac("sha256", HOOK_SECRET).update(body).digest("hex");
  const headers = {
    "content-type": "application/json",
    "x-hub-signature-256": `sha256=${signature}`,
  };
  eq((await world.call("POST", "/api/v1/gitops/webhook", { body, headers })).status, 202);
}

/** Sends a POST request to a GitOps endpoint. */
export const post = (world: World, { token }: Account, path: string, body: unknown = {}) =>
  world.call("POST", `/api/v1/gitops/${path}`, { as: token, body });

/** Name, version and pin of the policies in force. */
export async function inForce({ get }: GitWorld) {
  const { body } = await get("policies");
  return body.policies.map((one: Record<string, unknown>) => [
    one["name"],
    one["version"],
    one["pinned"] !== null,
  ]);
}
