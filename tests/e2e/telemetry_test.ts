import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { type Client, clientOf, expectStatus, type Refusal } from "../clients/status_client.ts";
import type { Program } from "../../core/cli/program.ts";
import { type SpanName, SPANS } from "../../kv/store/trace.ts";
import {
  makeKey,
  signUpOwner,
  START_MS,
  startMain,
  startRelayProcess,
  withFolder,
} from "../support/processes.ts";
import { Collector, type Received } from "./collector.ts";

/** The trace and the span of a caller who traces, too. */
const [TRACE, CALLER] = ["4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"];
const CALLED = { traceparent: `00-${TRACE}-${CALLER}-01` };
/** Another caller's, which is not sampled. */
const UNSAMPLED = "9bf92f3577b34da6a3ce929d0e0e4736";
const RIGHTS = ["agents:admin", "agents:read", "agents:write", "system:read"];
/** What no span and no line of the access log may hold. */
const SECRET = "hunter2";

interface Traced {
  readonly relay: Program;
  readonly owner: Client;
  readonly caller: Client;
  readonly agentId: string;
  /** The headers that the webhook's receiver gets. */
  readonly delivered: Promise<Headers>;
}

/** A relay and an agent that export their traces to the collector, and a webhook. */
async function withTraced(collector: Collector, use: (traced: Traced) => Promise<void>) {
  const { promise: delivered, resolve } = Promise.withResolvers<Headers>();
  const listen = { hostname: "127.0.0.1", port: 0, onListen() {} };
  await using receiver = Deno.serve(listen, ({ headers }) => {
    resolve(headers);
    return new Response();
  });
  await withFolder(async (folder) => {
    const { relay, url } = await startRelayProcess({
      ...collector.environment("relay"),
      RELAY_KV: `${folder}/relay.kv`,
      RELAY_CONFIG: JSON.stringify({ outbound: { allow_private_targets: true } }),
      RELAY_ACCESS_LOG: "all",
      OTEL_TRACES_SAMPLER: "parentbased_always_on",
    });
    const owner = clientOf(url, await signUpOwner(clientOf(url)));
    const hook = await owner("POST", "/api/v1/webhooks", {
      name: "hook",
      url: `http://127.0.0.1:${receiver.addr.port}/`,
      events: ["command_executed"],
      secret: "a secret of the webhook",
    });
    expectStatus(hook, 201, "making a webhook");
    const key = await makeKey(owner, RIGHTS);
    const agent = startMain(["agent", "--url", url, "--state", `${folder}/agent`], {
      ...collector.environment("agent"),
      RELAY_TOKEN: key,
    });
    try {
      await agent.line(/connected/, START_MS);
      const { body } = await owner<{ agents: { id: string }[] }>("GET", "/api/v1/agents");
      const agentId = body.agents[0]!.id;
      await use({ relay, owner, caller: clientOf(url, key), agentId, delivered });
    } finally {
      // What is left in memory is exported at the end.
      await agent.stop();
      await relay.stop();
    }
  });
}

const familyOf = (spans: readonly Received[], parent: string) =>
  spans.filter(({ parentSpanId }) => parentSpanId === parent)
    .map(({ service, name }) => `${service}: ${name}`).sort();

Deno.test("telemetry: one trace leads from the caller through the relay to the agent and to the webhook", async () => {
  await using collector = new Collector();
  let header: string | null = null;
  await withTraced(collector, async ({ caller, owner, agentId, delivered, relay }) => {
    const path = `/api/exec/${agentId}?command=${encodeURIComponent(`echo ${SECRET}`)}`;
    eq((await caller("GET", path, undefined, CALLED)).status, 200);
    header = (await delivered).get("traceparent");

    const [, text] = await relay.line(/^(\{.*"route":"\/api\/exec\/.*)$/, START_MS);
    const { at: _, ms: __, request_id: id, ...line } = JSON.parse(text!);
    deq(line, {
      level: "info",
      message: "request",
      method: "GET",
      route: "/api/exec/{agent_id}",
      status: 200,
      trace_id: TRACE,
      organization_id: line.organization_id,
      actor_id: line.actor_id,
    });
    const found = await owner<{ events: Record<string, string>[] }>("GET", "/api/audit?limit=50");
    const rows = expectStatus(found, 200, "reading the log").events;
    const own = rows.filter((row) => row.request_id === id);
    deq(own.map(({ event_type, trace_id }) => [event_type, trace_id]).sort(), [
      ["api_key_used", TRACE],
      ["command_executed", TRACE],
    ]);
  });
  const trace = collector.spans.filter(({ traceId }) => traceId === TRACE);
  const request = trace.find(({ parentSpanId }) => parentSpanId === CALLER)!;
  eq(request.name, "GET /api/exec/{agent_id}");
  deq(familyOf(trace, request.spanId), [
    "relay: agent round trip",
    "relay: authenticate",
    "relay: commit",
    "relay: commit",
    "relay: shield",
    "relay: webhook attempt",
  ]);
  const trip = trace.find(({ name }) => name === "agent round trip")!;
  deq(familyOf(trace, trip.spanId), ["agent: run command"]);
  eq(trace.length, 8);
  const attempt = trace.find(({ name }) => name === "webhook attempt")!;
  eq(header, `00-${TRACE}-${attempt.spanId}-01`);
  deq([trip, attempt].map(({ attributes }) => attributes), [
    {
      "relay.agent_id": trip.attributes["relay.agent_id"]!,
      "relay.command_id": trip.attributes["relay.command_id"]!,
      "relay.command_status": "succeeded",
    },
    {
      "relay.webhook_id": attempt.attributes["relay.webhook_id"]!,
      "relay.delivery_id": attempt.attributes["relay.delivery_id"]!,
      "relay.attempt": "1",
      "http.response.status_code": "200",
    },
  ]);
  assertDeclared(collector.spans);
});

Deno.test("telemetry: a refusal names its trace, in which the tool and what failed are marked", async () => {
  await using collector = new Collector();
  await withTraced(collector, async ({ caller, agentId }) => {
    const blocked = await caller<Refusal>(
      "POST",
      `/api/v1/agents/${agentId}/commands`,
      { command: "rm -rf /" },
      CALLED,
    );
    deq([blocked.status, blocked.body.error.details.trace_id], [403, TRACE]);
    const unsampled = { traceparent: `00-${UNSAMPLED}-${CALLER}-00` };
    const missing = await caller<Refusal>("GET", "/api/v1/agents/none", undefined, unsampled);
    deq([missing.status, "trace_id" in missing.body.error.details], [404, false]);
    const params = { name: "get_agent", arguments: { id: "agt_none" } };
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    const { body } = await caller<{ result: { isError: boolean } }>("POST", "/mcp", call, CALLED);
    eq(body.result.isError, true);
  });
  const trace = collector.spans.filter(({ traceId }) => traceId === TRACE);
  const shield = trace.find(({ name }) => name === "shield")!;
  deq(shield.attributes, { "relay.verdict": "deny", "relay.risk_score": "100" });
  const tool = trace.find(({ name }) => name === "mcp tool")!;
  deq([tool.failed, tool.attributes], [true, {
    "gen_ai.tool.name": "get_agent",
    "error.type": "AGENT_NOT_FOUND",
  }]);
  deq(collector.spans.filter(({ traceId }) => traceId === UNSAMPLED), []);
  assertDeclared(collector.spans);
});

/** Every span of Relay's has a declared name and declared attributes, and none holds a query. */
function assertDeclared(spans: readonly Received[]): void {
  ok(!JSON.stringify(spans).includes(SECRET));
  deq(spans.filter(({ attributes }) => "url.query" in attributes), []);
  for (const { scope, name, attributes } of spans) {
    if (scope !== "relay") continue;
    ok(Object.hasOwn(SPANS, name), `${name} is not declared`);
    const declared: readonly string[] = [...SPANS[name as SpanName].attributes, "error.type"];
    deq(Object.keys(attributes).filter((key) => !declared.includes(key)), []);
  }
}
