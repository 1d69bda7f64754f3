import type { Client, GitPolicy, PolicyApply, Repository } from "../../../client/client.ts";
import { confirmed } from "../ask.ts";
import type { Call, Run } from "../command.ts";

/** A relay fetches for 20 s at most, and then judges the replayed commands. */
const APPLY_MS_MAX = 120_000;
const PAGE = 200;
/** The most changed verdicts of a replay that a person is shown. */
const REPLAYED_SHOWN = 20;

/** `relay policy ls` */
export const listPolicies: Run = async ({ relay, number, out }) => {
  const answer = await relay().call("gitops.list_policies", {
    query: { limit: number("limit"), offset: number("offset") },
  });
  const { policies, pagination } = answer;
  await out.list(
    answer,
    ["ID", "NAME", "VERSION", "LATEST", "PINNED BY", "UPDATED", "PATH"],
    policies.map((policy) =>
      [
        policy.id,
        policy.name,
        policy.version,
        policy.latest_version,
        policy.pinned?.by,
        policy.updated_at,
        policy.path,
      ] as const
    ),
  );
  if (pagination.has_more) {
    await out.note(`${policies.length} of ${pagination.total}: use --offset.`);
  }
};

/** `relay policy plan` */
export const planPolicies: Run = async (call) => {
  const repository = await repositoryOf(call);
  const plan = await apply(call, repository, true);
  await print(call, plan);
  await call.out.note(plan.changed ? `Apply it: relay policy apply ${repository.name}` : NOTHING);
};

/** `relay policy apply` */
export const applyPolicies: Run = async (call) => {
  const { has, host, out } = call;
  const repository = await repositoryOf(call);
  let planned: string | undefined;
  if (!has("yes")) {
    const plan = await apply(call, repository, true);
    if (!plan.changed) {
      await print(call, plan);
      await out.note(NOTHING);
      return;
    }
    const changes = plan.plan.filter(({ action }) => action !== "unchanged" && action !== "pinned");
    for (const { action, name, path } of changes) await out.note(`${action} ${name} (${path})`);
    if (!confirmed({ host, has }, `Bring ${repository.name} at ${plan.commit} into force?`)) {
      return 1;
    }
    planned = plan.commit;
  }
  await print(call, await apply(call, repository, false, planned));
};

const NOTHING = "Everything is in force already.";

/** `relay policy rollback` */
export const rollBackPolicy: Run = async (call) => {
  const { relay, out, args: [named = "", version = ""] } = call;
  const client = relay();
  const policy = await policyOf(client, named);
  const question = `Roll ${policy.name} back from version ${policy.version} to ${version}?`;
  if (!confirmed(call, question)) return 1;
  const now = await client.call("gitops.rollback", { body: { policy_id: policy.id, version } });
  await out.item(now, now.id, [
    ["id", now.id],
    ["name", now.name],
    ["version", now.version],
    ["latest", now.latest_version],
    ["pinned by", now.pinned?.by],
  ]);
};

const apply = (
  { relay, text, number }: Call,
  { url, branch, policy_path }: Repository,
  dry_run: boolean,
  commit?: string,
): Promise<PolicyApply> =>
  relay().call("gitops.apply", {
    body: {
      repo_url: url,
      branch: text("branch") ?? branch,
      policy_path: text("path") ?? policy_path,
      dry_run,
      commit,
      replay: number("replay"),
    },
    timeoutMs: APPLY_MS_MAX,
  });

async function print({ out }: Call, answer: PolicyApply): Promise<void> {
  await out.list(
    answer,
    ["NAME", "ACTION", "VERSION", "BEFORE", "PATH"],
    answer.plan.map(({ name, action, version, previous_version, path }) =>
      [name, action, version, previous_version, path] as const
    ),
  );
  await out.note(`At commit ${answer.commit}.`);
  if (answer.replay === null) return;
  const { replayed, changed } = answer.replay;
  await out.note(
    `Of the last ${replayed} commands, ${changed.length} would be judged differently.`,
  );
  for (const { before, verdict, command } of changed.slice(0, REPLAYED_SHOWN)) {
    await out.note(`${before} → ${verdict}: ${command}`);
  }
}

/** The repository of this id, name or address. @throws {Error} */
async function repositoryOf({ relay, args: [named = ""] }: Call): Promise<Repository> {
  const client = relay();
  const all: Repository[] = [];
  for (let more = true; more;) {
    const { repositories, pagination } = await client.call("gitops.list_repositories", {
      query: { limit: PAGE, offset: all.length },
    });
    all.push(...repositories);
    more = pagination.has_more;
  }
  return oneOf(all, named, "repository", ({ id, name, url }) => [id, name, url]);
}

/** The policy in force of this id or name. @throws {Error} */
async function policyOf(client: Client, named: string): Promise<GitPolicy> {
  // At most 32 are in force.
  const { policies } = await client.call("gitops.list_policies", { query: { limit: PAGE } });
  return oneOf(policies, named, "policy", ({ id, name }) => [id, name]);
}

/** @throws {Error} */
function oneOf<T extends { readonly id: string; readonly name: string }>(
  all: readonly T[],
  named: string,
  what: string,
  namesOf: (one: T) => readonly string[],
): T {
  const [found, other] = all.filter((one) => namesOf(one).includes(named));
  if (found !== undefined && other === undefined) return found;
  const names = all.map(({ id, name }) => `${name} (${id})`).join(", ") || "none";
  const why = found === undefined ? `There is no ${what}` : `Several have the name`;
  throw new Error(`${why} ${JSON.stringify(named)}. Name one of: ${names}.`);
}
