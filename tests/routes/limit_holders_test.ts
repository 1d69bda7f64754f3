import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { type Account, World } from "../support/world.ts";
import { ScriptedAgent } from "../support/agent.ts";
import { type Reply, rpc } from "../mcp/client.ts";
import { AGENT_RIGHTS } from "../support/linked_agent.ts";
import { NO_LIMITS } from "../support/no_limits.ts";

interface Here {
  readonly world: World;
  readonly owner: Account;
  readonly agentId: string;
  readonly key: { readonly id: string; readonly value: string };
}

const MINUTE_MS = 60_000;
/** More than any of these limits. */
const ASKED_MAX = 70;
const ADDRESS = "192.0.2.9";
const LIVE = {
  requests_per_minute: 2,
  mcp_calls_per_minute: 1,
};

const list = ({ world, key }: Here) => world.call("GET", "/api/v1/agents", { as: key.value });
const listTools = ({ world, key }: Here) => rpc(world, "tools/list", {}, { as: key.value });
const byHost = (id: string) => ({ who: "host_owner", how: `PUT /api/admin/limits/${id}` });
const ofKey = ({ key: { id } }: Here) => ({ of: { type: "api_key", id }, raise: byHost(id) });
const ofAddress = { type: "address", id: ADDRESS };

/** Each limit, with a request that reaches it when it is repeated, and whose limit it is. */
const CASES: Readonly<
  Record<string, {
    readonly config?: Record<string, unknown>;
    readonly ask: (here: Here) => Promise<Pick<Reply, "status" | "headers" | "body">>;
    readonly expected: (here: Here) => { readonly of: unknown; readonly raise: unknown };
  }>
> = {
  key: { config: { limits: { live: LIVE } }, ask: list, expected: ofKey },
  mcp: { config: { limits: { live: LIVE } }, ask: listTools, expected: ofKey },
  burst: {
    config: { limits: { live: { burst_per_10_seconds: 2 } } },
    ask: list,
    expected: ofKey,
  },
  organization: {
    config: { plans: { starter: { requests_per_minute: 9 } } },
    ask: ({ world, owner }) => world.call("GET", "/api/v1/agents", { as: owner.token }),
    expected: ({ owner: { org } }) => ({
      of: { type: "organization", id: org },
      raise: byHost(org),
    }),
  },
  address: {
    config: { limits: { public_per_minute: 3 } },
    ask: ({ world }) => world.call("GET", "/.well-known/jwks.json", { from: ADDRESS }),
    expected: () => ({
      of: ofAddress,
      raise: { who: "operator", how: "`limits.public_per_minute` of RELAY_CONFIG" },
    }),
  },
  agent: {
    ask: ({ world, agentId }) =>
      world.call("POST", "/api/v1/heartbeat", { body: { agent_id: agentId, status: "ok" } }),
    expected: ({ agentId }) => ({ of: { type: "agent", id: agentId }, raise: null }),
  },
  login: {
    ask: ({ world, owner: { email } }) =>
      world.call("POST", "/api/v1/login", { body: { email, password: "wrong" }, from: ADDRESS }),
    expected: () => ({ of: ofAddress, raise: null }),
  },
  pairing: {
    ask: ({ world }) =>
      world.call("POST", "/api/devices/pair", {
        body: { device_name: "box", pairing_code: "wrong-code-0000" },
        from: ADDRESS,
      }),
    expected: () => ({ of: ofAddress, raise: null }),
  },
};

for (const [scope, { config = NO_LIMITS, ask, expected }] of Object.entries(CASES)) {
  Deno.test(`limits: a 429 of scope \`${scope}\` says whose limit it is, and who may raise it how`, async () => {
    await using world = await World.open({ config });
    await world.signUp(); // the host, whose plan has no limit
    const owner = await world.signUp();
    const key = await world.key(owner, ["agents:read"]);
    const link = await world.key(owner, AGENT_RIGHTS);
    const agent = await ScriptedAgent.connect(world, link.value);
    await world.advance(MINUTE_MS);
    const here = { world, owner, key, agentId: agent.id };
    let answer = await ask(here);
    for (let n = 0; n < ASKED_MAX && answer.status !== 429; n++) answer = await ask(here);
    eq(answer.status, 429);
    const { message, details } = answer.body.error;
    const { raise } = details;
    deq([details.scope, { of: details.of, raise }], [scope, expected(here)]);
    ok(message.endsWith(raise === null ? "This limit is fixed." : `raise it with ${raise.how}.`));
    eq(answer.headers.get("retry-after"), `${details.retry_after}`);
  });
}
