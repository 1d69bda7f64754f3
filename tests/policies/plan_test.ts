import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { random } from "../support/random.ts";
import { World } from "../support/world.ts";
import { asPlanned, forbidding, withRepository } from "./git_fixtures.ts";
import { rawRows } from "../support/raw_rows.ts";

const SEED = Number(Deno.env.get("RELAY_GITOPS_SEED") ?? Math.floor(Math.random() * 1e6));
console.log(`gitops: RELAY_GITOPS_SEED=${SEED}`);
const ROUNDS = 60;
const FILES = ["policies/a", "policies/b", "policies/deep/c", "policies/deep/d", "other/e", "f"];
const SCOPES = ["policies", "policies/deep", "other", ""];

/** Every row of a store with its bytes. */
async function rows(world: World): Promise<Map<string, string>> {
  await world.settle();
  const found = new Map<string, string>();
  for (const { key, value, versionstamp } of await rawRows(world.kv)) {
    found.set(key.join("/"), `${versionstamp} ${Deno.inspect(value, { depth: 20 })}`);
  }
  return found;
}

interface Shown {
  id: string;
  name: string;
  path: string;
  version: string;
  digest: string;
  pinned: unknown;
}

Deno.test("apply: for random pairs of policy sets, a dry run writes nothing and the apply does what it planned", async () => {
  const { seed, unit, pick } = random(SEED);
  await using world = await World.open({ seed });
  const { owner, host, apply, get } = await withRepository(world);
  const inForce = async () =>
    new Map(
      ((await get("policies?limit=200")).body.policies as Shown[]).map((one) => [one.path, one]),
    );
  let changes = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const files = FILES.filter(() => unit() < 0.6).map((name): [string, string] => [
      `${name}.yaml`,
      forbidding(pick(["nmap", "nc", "ssh"])),
    ]);
    // A missing folder is an error, so each has a file that is not a policy.
    const readme = ["policies/deep/README", "other/README"].map((path) => [path, "x"] as const);
    const commit = await host.commit(Object.fromEntries([...files, ...readme]));
    const policy_path = pick(SCOPES);
    const before = await rows(world);
    const known = await inForce();
    const dry = await apply({ policy_path, dry_run: true });
    eq(dry.status, 200, dry.text);
    deq(await rows(world), before);
    const done = await apply({ policy_path });
    const { replay: _replay, dry_run: _dry, ...planned } = dry.body;
    const { replay: _none, dry_run: _not, ...carried } = done.body;
    deq(planned, asPlanned(carried), `seed ${seed} round ${round}`);
    const now = await inForce();
    changes += done.body.changed ? 1 : 0;

    // The plan matches the policies in force, and no other policy has changed.
    const steps = new Map(done.body.plan.map((step: { path: string }) => [step.path, step]));
    const liesIn = (path: string) => policy_path === "" || path.startsWith(`${policy_path}/`);
    const wanted = files.map(([path]) => path).filter(liesIn);
    const gone = [...known.keys()].filter((path) => liesIn(path) && !wanted.includes(path));
    deq([...steps.keys()].sort(), [...wanted, ...gone].sort());
    for (const [path, step] of steps as Map<string, Record<string, unknown>>) {
      const was = known.get(path), is = now.get(path);
      eq(step["version"], is?.version ?? null, `${path} ${commit}`);
      eq(step["digest"], is?.digest ?? null);
      eq(step["previous_version"], was?.version ?? null);
      const action = was === undefined ? "create" : is === undefined ? "delete" : step["action"];
      eq(step["action"], action);
      if (action === "update") ok(was!.digest !== is!.digest && was!.version !== is!.version);
      if (action === "unchanged" || action === "pinned") deq(was, is);
      if (action === "unpin") ok(was!.pinned !== null && is!.pinned === null);
    }
    for (const [path, was] of known) if (!steps.has(path)) deq(now.get(path), was);
    for (const path of now.keys()) ok(known.has(path) || steps.has(path));

    const [rolled] = [...now.values()].filter(({ version }) => version !== "1");
    if (rolled === undefined || unit() < 0.6) continue;
    const body = { policy_id: rolled.id, version: "1" };
    const back = await world.call("POST", "/api/v1/gitops/rollback", { as: owner.token, body });
    eq(back.status, 200, back.text);
  }
  ok(changes > ROUNDS / 3, `${changes} changes`);
});
