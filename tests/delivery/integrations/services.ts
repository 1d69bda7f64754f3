import { ok, strictEqual as eq } from "node:assert/strict";
import type { z } from "zod";
import { safeOutbound } from "../../../core/ports/outbound/safe_outbound.ts";
import type { OutboundRequest, OutboundResponse } from "../../../core/ports/ports.ts";
import { handClock } from "../../ports/hand_clock.ts";
import { PagerDutyEvent, SlackMessage, TelegramMessage } from "./schemas.ts";

const fixture = (name: string) =>
  Deno.readTextFileSync(new URL(`../../fixtures/tls/${name}`, import.meta.url));

/** A service as documented. */
interface Documented {
  readonly path: string;
  readonly authorization: string | null;
  readonly schema: z.ZodType;
  /** The responses to a valid and to an invalid message. */
  readonly taken: () => Response;
  readonly refused: () => Response;
}

/** The documented services, by host name. */
const SERVICES = {
  "hooks.slack.com": {
    path: "/services/T0/B0/abc",
    authorization: null,
    schema: SlackMessage.omit({ channel: true }),
    taken: () => new Response("ok"),
    refused: () => new Response("invalid_payload", { status: 400 }),
  },
  "slack.com": {
    path: "/api/chat.postMessage",
    authorization: "Bearer xoxb-1",
    schema: SlackMessage.required({ channel: true }),
    taken: () => Response.json({ ok: true, channel: "C024BE91L", ts: "1503435956.000247" }),
    refused: () => Response.json({ ok: false, error: "invalid_blocks" }),
  },
  "events.pagerduty.com": {
    path: "/v2/enqueue",
    authorization: null,
    schema: PagerDutyEvent,
    taken: () => Response.json({ status: "success", message: "Event processed" }, { status: 202 }),
    refused: () => Response.json({ status: "invalid event" }, { status: 400 }),
  },
  "api.telegram.org": {
    path: "/bot123456:ABC-def/sendMessage",
    authorization: null,
    schema: TelegramMessage,
    taken: () => Response.json({ ok: true, result: { message_id: 1 } }),
    refused: () => Response.json({ ok: false, error_code: 400 }, { status: 400 }),
  },
} as const satisfies Readonly<Record<string, Documented>>;

export type ServiceName = keyof typeof SERVICES;

/** A message as received. */
export interface Arrived {
  readonly service: ServiceName;
  // deno-lint-ignore no-explicit-any -- tests look into messages of every shape
  readonly json: any;
}

/** All services on one local port, and an outbound port that connects to them. */
export interface Services extends AsyncDisposable {
  readonly arrived: readonly Arrived[];
  /** The faults of invalid messages, one sentence each. */
  readonly misfits: readonly string[];
  /** Dials like a relay, with other addresses and another port. */
  dial(request: OutboundRequest): Promise<OutboundResponse>;
}

/** Accepts valid messages of a service, over HTTPS under the service's own name. */
export function startServices(): Services {
  const arrived: Arrived[] = [];
  const misfits: string[] = [];
  const tls = { cert: fixture("services.pem"), key: fixture("services.key") };
  const address = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  const server = Deno.serve({ ...address, ...tls }, async (request) => {
    const service = new URL(request.url).hostname as ServiceName;
    const { taken, refused } = SERVICES[service];
    try {
      arrived.push({ service, json: await readMessage(request, service) });
      return taken();
    } catch (error) {
      misfits.push(`${service}: ${error}`);
      return refused();
    }
  });
  const outbound = safeOutbound({
    allowPrivateTargets: () => true,
    clock: handClock(),
    resolve: () => Promise.resolve(["127.0.0.1"]),
    trustedRoots: [fixture("authority.pem")],
  });
  return {
    arrived,
    misfits,
    dial(request) {
      const url = new URL(request.url);
      eq(url.port, "");
      url.port = `${server.addr.port}`;
      return outbound.request({ ...request, url: url.href });
    },
    async [Symbol.asyncDispose]() {
      outbound.close();
      await server.shutdown();
    },
  };
}

async function readMessage(request: Request, service: ServiceName): Promise<unknown> {
  const { path, authorization, schema } = SERVICES[service];
  const { method, url, headers } = request;
  const bytes = await request.bytes();
  eq(method, "POST");
  const { protocol, pathname, search } = new URL(url);
  eq(`${protocol}${pathname}${search}`, `https:${path}`);
  eq(headers.get("content-type"), "application/json; charset=utf-8");
  eq(headers.get("content-length"), `${bytes.length}`);
  eq(headers.get("authorization"), authorization);
  ok(headers.get("user-agent"));
  return schema.parse(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)));
}
