import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { verifyExport } from "../../../core/events/trail/verify_export.ts";
import { readKey } from "../../../core/protocol/checkpoints/note.ts";
import { privateKeyOf } from "../../../core/protocol/statements.ts";
import { ScriptedAgent } from "../../support/agent.ts";
import { ManualClock } from "../../support/clock.ts";
import { FIRST_DAY_CONFIG, type FirstDay, idsOf } from "../../support/first_day.ts";
import { NO_LIMITS } from "../../support/no_limits.ts";
import { withFolder } from "../../support/processes.ts";
import { World } from "../../support/world.ts";

/** Stores that relays of releases and older commits wrote, named after them: `deno task fixture <name>`. */
const STORES = new URL("../../fixtures/stores/", import.meta.url);

interface Stored extends FirstDay {
  readonly made_at: string;
  readonly secret: string;
}

for (const name of namesOf(STORES)) {
  const day: Stored = JSON.parse(Deno.readTextFileSync(new URL(`${name}.json`, STORES)));
  const guarantee = (what: string, holds: (world: World, as: Credentials) => Promise<void>) =>
    Deno.test(`store of ${name}: ${what}`, () =>
      withFolder(async (folder) => {
        const file = `${folder}/relay.kv`;
        const packed = await Deno.readFile(new URL(`${name}.kv.gz`, STORES));
        await Deno.writeFile(file, gunzipSync(packed));
        const made = Date.parse(day.made_at);
        await using world = await World.open({
          kv: await Deno.openKv(file),
          clock: new ManualClock(made + 1000),
          seed: 7,
          config: { ...NO_LIMITS, ...FIRST_DAY_CONFIG },
          settings: { secret: day.secret },
        });
        await holds(world, await signInBoth(world, day));
      }));

  guarantee("people sign in with their passwords, and their sessions go on", async (world) => {
    for (const person of [day.owner, day.approver]) {
      const { status, body } = await world.call("GET", "/api/account/info", { as: person.token });
      deq([status, body.user.email], [200, person.email]);
    }
    const wrong = { email: day.owner.email, password: "not the password" };
    eq((await world.call("POST", "/api/v1/login", { body: wrong })).status, 401);
  });

  guarantee("the host keeps the plan that it was created with", async (world, as) => {
    const { body } = await world.call("GET", "/api/account/info", { as: as.owner });
    deq([body.organization.host, body.organization.plan], [true, day.plan]);
  });

  guarantee(
    "stored keys still authenticate, and both values of a rotating key do",
    async (world) => {
      const { caller, test, rotating, revoked } = day.keys;
      for (const as of [caller.key, test.key, rotating.key, rotating.old_key]) {
        eq((await world.call("GET", "/api/v1/agents", { as })).status, 200);
      }
      eq((await world.call("GET", "/api/v1/agents", { as: revoked.key })).status, 401);
      world.clock.nowMs += 168 * 3_600_000;
      const old = await world.call("GET", "/api/v1/agents", { as: rotating.old_key });
      eq(old.status, 401);
    },
  );

  guarantee("lists show every record that was there", async (world, { owner }) => {
    for (const [path, ids] of Object.entries(day.lists)) {
      const { status, body } = await world.call("GET", path, { as: owner });
      eq(status, 200, path);
      const shown = idsOf(body);
      deq(ids.filter((id) => !shown.includes(id)), [], path);
    }
  });

  guarantee("commands of before are listed, also of their agent", async (world, { owner }) => {
    for (const path of ["/api/v1/commands", `/api/v1/agents/${day.agent_id}/commands`]) {
      const { body } = await world.call("GET", `${path}?limit=200`, { as: owner });
      const shown = body.commands.map((command: { command_id: string }) => command.command_id);
      for (const id of [day.commands.succeeded, day.commands.denied]) ok(shown.includes(id), id);
      deq(shown, [...new Set<string>(shown)].sort().reverse());
    }
  });

  guarantee("single records are still readable", async (world, { owner }) => {
    const paths = [
      `/api/v1/agents/${day.agent_id}`,
      `/api/v1/agents/${day.agent_id}/commands/${day.commands.succeeded}`,
      `/api/v1/agents/${day.agent_id}/commands/${day.commands.denied}`,
      `/api/v1/api-keys/${day.keys.caller.id}`,
      `/api/v1/webhooks/${day.webhook.id}`,
      `/api/v1/webhooks/${day.webhook.id}/deliveries/${day.delivery_id}`,
      `/api/v1/gitops/repos/${day.repository_id}`,
      `/api/v1/gitops/policies/${day.policy_id}`,
      `/api/v1/gitops/policies/${day.policy_id}/versions/1`,
      `/api/v1/compliance/report?id=${day.report_id}`,
      `/api/v1/roles/${day.role}`,
      `/api/v1/roles/user/${day.approver.id}`,
      "/api/shield/settings",
      "/api/v1/secrets",
    ];
    for (const path of paths) {
      eq((await world.call("GET", path, { as: owner })).status, 200, path);
    }
  });

  guarantee("the audit trail verifies over old and new rows", async (world, { owner }) => {
    const body = { event_type: "note", details: { day: 2 } };
    eq((await world.call("POST", "/api/audit/event", { as: owner, body })).status, 201);
    await world.settle();
    const { body: { public_key } } = await world.call("GET", "/api/audit/checkpoint", {
      as: owner,
    });
    const headers = { accept: "application/x-ndjson" };
    const { text } = await world.call("GET", "/api/audit/export", { as: owner, headers });
    const chunks = ReadableStream.from([new TextEncoder().encode(text)]);
    const { finding } = await verifyExport(chunks, { key: readKey(public_key)! });
    eq(finding, null);
    const notes = text.split("\n").filter((line) => line.includes('"event_type":"note"'));
    deq(notes.map((line) => JSON.parse(line).details.day), [1, 2]);
  });

  guarantee(
    "its agent links again, runs a command and never receives a denied one",
    async (world) => {
      await withAgent(world, async (agent) => {
        eq(agent.id, day.agent_id);
        const exec = (command: string) =>
          world.call("GET", `/api/exec/${day.agent_id}?${new URLSearchParams({ command })}`, {
            as: day.keys.caller.key,
          });
        deq((await exec("uname -a")).body.status, "succeeded");
        // The policy that was applied then.
        eq((await exec("forbidden-tool --now")).status, 403);
      });
    },
  );

  guarantee("an approval that waited is granted, and its command runs", async (world, as) => {
    await withAgent(world, async (agent) => {
      const path = `/api/shield/approve/${day.approval_id}`;
      const { status, text } = await world.call("POST", path, { as: as.approver, body: {} });
      eq(status, 200, text);
      await world.settle();
      const ran = `/api/v1/agents/${day.agent_id}/commands/${day.commands.waiting}`;
      const { body } = await world.call("GET", ran, { as: as.owner });
      eq(body.status, "succeeded");
      ok(agent.received.some(({ type }) => type === "run"));
    });
  });

  guarantee("its webhook delivers, signed with the secret of then", async (world) => {
    await withAgent(world, async () => {
      const path = `/api/exec/${day.agent_id}?command=uptime`;
      eq((await world.call("GET", path, { as: day.keys.caller.key })).status, 200);
      await world.settle();
      const [sent] = world.network.sent;
      const headers = new Headers(sent!.headers);
      const body = sent!.body as string;
      const signature = createHmac("sha256", day.webhook.secret).update(body).digest("hex");
      eq(headers.get("x-service-signature"), `sha256=${signature}`);
      deq([headers.get("x-room"), JSON.parse(body).payload.command], ["7", "uptime"]);
    });
  });

  guarantee("its ingest token still takes alerts", async (world, { owner }) => {
    const body = { event: "disk full", payload: { severity: "critical" } };
    const headers = { "x-ingest-token": day.ingest_token.token };
    const sent = await world.call("POST", "/api/webhooks/generic-alert", { body, headers });
    eq(sent.status, 202, sent.text);
    await world.settle();
    const { body: list } = await world.call("GET", "/api/shield/alerts", { as: owner });
    ok(list.alerts.some(({ severity }: { severity: string }) => severity === "critical"));
  });

  const withAgent = async (world: World, use: (agent: ScriptedAgent) => Promise<void>) => {
    const identity = privateKeyOf(Buffer.from(day.agent_seed, "base64url"));
    const agent = await ScriptedAgent.connect(world, day.keys.agent.key, { identity });
    await use(agent);
    agent.drop();
  };
}

interface Credentials {
  readonly owner: string;
  readonly approver: string;
}

async function signInBoth(world: World, { owner, approver }: Stored): Promise<Credentials> {
  const signIn = async ({ email, password }: FirstDay["owner"]): Promise<string> => {
    const answer = await world.call("POST", "/api/v1/login", { body: { email, password } });
    eq(answer.status, 200, answer.text);
    return answer.body.token;
  };
  return { owner: await signIn(owner), approver: await signIn(approver) };
}

function namesOf(folder: URL): string[] {
  const files = [...Deno.readDirSync(folder)].map(({ name }) => name);
  const names = files.filter((name) => name.endsWith(".json")).map((name) => name.slice(0, -5));
  if (names.length === 0) throw new Error(`${folder} holds no store`);
  return names.sort();
}
