import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import type { Scope } from "../../../core/identity/identity.ts";
import { OutboundError } from "../../../core/ports/ports.ts";
import { FIRST_RETRY_MS, LADDER_MS } from "../../support/ladder.ts";
import { eventsOf } from "../../support/linked_agent.ts";
import { UNTIMED } from "../../support/network.ts";
import { type Account, World } from "../../support/world.ts";
import { act, happen, hear, HOOKS, newest, responding } from "./hook_fixtures.ts";

async function detail(world: World, { token }: Pick<Account, "token">, hook: string, id: string) {
  return (await world.call("GET", `${HOOKS}/${hook}/deliveries/${id}`, { as: token })).body;
}

Deno.test("webhooks.delivery: shows every attempt, including those before a resend", async () => {
  await using world = await World.open();
  const startMs = world.clock.now();
  const after = (ms: number) => new Date(startMs + ms).toISOString();
  const owner = await world.signUp();
  const hook = await hear(world, owner, { retry_policy: { max_retries: 3, auto_disable: false } });
  const dialled = { resolve: 1, connect: 2, tls: 3, first_byte: null };
  const replies = [
    503,
    Object.assign(new OutboundError("timeout", "slow"), { timing: dialled }),
    new OutboundError("dns", "none"),
    { status: 200, timing: { ...UNTIMED, first_byte: 7 } },
  ];
  world.network.reply = () => replies.shift()!;
  await happen(world, owner);
  await world.advance(FIRST_RETRY_MS + LADDER_MS[1]! + 50_000);
  const { id } = await newest(world, owner, hook.id);
  const failed = await detail(world, owner, hook.id, id);
  deq([failed.status, failed.final, failed.attempt, failed.error], ["failed", true, 3, "dns"]);
  const again = await act(world, owner, `${hook.id}/deliveries/${id}`, "resend");
  deq([again.id, again.status, again.final], [id, "pending", false]);
  await world.settle();
  const { attempts, ...shown } = await detail(world, owner, hook.id, id);
  deq([shown.status, shown.attempt], ["succeeded", 4]);
  deq(
    attempts.map((a: Record<string, unknown>) => [
      a["number"],
      a["status"],
      a["http_status"],
      a["error"],
      a["started_at"],
    ]),
    [
      [1, "failed", 503, "http", after(0)],
      [2, "timed_out", null, "timeout", after(FIRST_RETRY_MS)],
      [3, "failed", null, "dns", after(FIRST_RETRY_MS + LADDER_MS[1]!)],
      [4, "succeeded", 200, null, after(FIRST_RETRY_MS + LADDER_MS[1]! + 50_000)],
    ],
  );
  deq(
    attempts.map((a: Record<string, unknown>) => a["timing_ms"]),
    [UNTIMED, dialled, null, { ...UNTIMED, first_byte: 7 }],
  );
  deq(shown.timing_ms, { ...UNTIMED, first_byte: 7 });
  for (const [n, { headers }] of world.network.sent.entries()) {
    const { "X-Audit-Checkpoint": _, ...kept } = headers;
    deq(attempts[n].request_headers, kept);
  }
  const ids = new Set(world.network.sent.map(({ headers }) => headers["X-Service-Delivery"]));
  deq([...ids], [id]);
  const events = await eventsOf(world, owner, hook.id);
  deq([events.at(-1)!.event_type, events.at(-1)!.details], ["webhook_delivery_resent", {
    delivery_id: id,
    event_type: "agent_disconnected",
    status: "failed",
  }]);
});

Deno.test("webhooks.delivery: shows the request as it was sent, as far as the caller may read it", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await hear(world, owner, { headers: { "X-Team": "ops" } });
  await happen(world, owner);
  await world.advance(90_000);
  const { id } = await newest(world, owner, hook.id);
  const [sent] = world.network.sent;
  const { "X-Audit-Checkpoint": _, ...headers } = sent!.headers;
  const { request } = await detail(world, owner, hook.id, id);
  deq(request, { url: sent!.url, headers, body: sent!.body });

  const masked = ["X-Service-Signature", "X-Team", "webhook-signature"];
  const shown = (scopes: Scope[]) =>
    world.key(owner, scopes).then(({ value }) => detail(world, { token: value }, hook.id, id));
  const reader = await shown(["system:read", "agents:read"]);
  deq(
    Object.keys(headers).filter((name) => reader.request.headers[name] !== headers[name]).sort(),
    masked,
  );
  deq(masked.map((name) => reader.request.headers[name]), masked.map(() => "********"));
  const stranger = await shown(["system:read", "secrets:read"]);
  deq([stranger.request, stranger.attempts[0].request_headers], [null, null]);

  await act(world, owner, hook.id, "disable");
  await happen(world, owner, "held");
  await world.settle();
  const held = await detail(world, owner, hook.id, (await newest(world, owner, hook.id)).id);
  deq([held.held, held.request.headers], [true, null]);
  eq(JSON.parse(held.request.body).payload.name, "held");
});

Deno.test("webhooks.delivery: keeps 4 KiB of a response body, and marks a longer one as truncated", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await hear(world, owner);
  const body = "x".repeat(4096);
  let truncated = true;
  world.network.request = ({ keepBytes }) => {
    const bytes = new TextEncoder().encode(body).slice(0, keepBytes);
    return Promise.resolve({ ...responding(truncated ? 500 : 200), bytes, body, truncated });
  };
  await happen(world, owner);
  await world.settle();
  truncated = false;
  await world.advance(FIRST_RETRY_MS);
  const { id } = await newest(world, owner, hook.id);
  const { attempts, response_truncated } = await detail(world, owner, hook.id, id);
  deq(attempts.map((a: Record<string, unknown>) => [a["truncated"], a["response_body"] === body]), [
    [true, true],
    [false, true],
  ]);
  eq(response_truncated, false);
});
