import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { existsSync } from "node:fs";
import { parse } from "yaml";
import { parseConfig } from "../../core/context/config.ts";
import { WEBHOOK_EVENTS } from "../../core/events/types/webhook_events.ts";
import { FAULTS } from "../../core/fault/fault.ts";
import { readHandover, signHandover } from "../../core/protocol/checkpoints/handover.ts";
import type { CommandOrder } from "../../core/protocol/protocol.ts";
import {
  challengeText,
  handoverText,
  policyText,
  privateKeyOf,
  receiptText,
  transferText,
  upgradeText,
  verdictText,
  welcomeText,
} from "../../core/protocol/statements.ts";
import { blockWith } from "./blocks.ts";
import { requestFault } from "./requests.ts";

const ROOT = new URL("../../", import.meta.url);
const jsonOf = (page: string, part: string) => JSON.parse(blockWith(page, part).text);

Deno.test("docs/agent-protocol.md: the texts that are signed are those that relay and agent sign", () => {
  const link = { agentId: "<agent_id>", nonce: "<nonce>" };
  // Numbers stand in the texts as they are, and so may other values.
  const of = <T>(...names: string[]) =>
    Object.fromEntries(names.map((name) => [name, `<${name}>`])) as unknown as T;
  const order = of<CommandOrder>("command_id", "timeout_ms", "max_output_bytes", "policy_version");
  const sealed = of<never>("job_id", "sha256", "stored_bytes", "kind", "serial");
  const signed = [
    challengeText("<nonce>"),
    welcomeText(of("agent_id", "time_ms"), "<nonce>"),
    verdictText(link, { ...of<object>("batch", "expires_at_ms"), commands: [order] } as never, [
      "<sha256>",
    ]),
    receiptText("<agent_id>", [
      of("command_id", "verdict", "exit_code", "signal", "reason", "truncated"),
    ], [{ stdout: "<stdout sha256>", stderr: "<stderr sha256>" }]),
    policyText(link, of("serial", "policy_version", "policies")).replace(
      /[0-9a-f]{64}/,
      "<sha256>",
    ),
    transferText(link, sealed),
    upgradeText(
      link,
      of("serial", "expires_at_ms", "job_id", "version", "platform", "sha256", "bytes"),
    ),
    handoverText("<the new verdict_key>"),
  ];
  for (const text of signed) {
    const [tag] = text.split("\n");
    const shown = blockWith("agent-protocol.md", `${tag}⏎`).text;
    // The lines of commands show their fields without brackets around each.
    const fields = (each: string) => each.replaceAll(/[<>]/g, "").split(/[\s⏎]+/).filter(Boolean);
    deq(fields(shown), fields(text), tag);
    eq(shown.split("⏎").length, text.split("\n").length, `${tag}: line feeds`);
  }
});

Deno.test("docs/audit.md: the lines of a handover are those that a relay signs", () => {
  const key = (byte: number) => ({
    name: "relay/org/live",
    publicKey: "A".repeat(43),
    privateKey: privateKeyOf(new Uint8Array(32).fill(byte)),
  });
  const signed = signHandover(key(1), key(2), 3, "2026-01-31T12:00:00.000Z");
  ok(readHandover(signed) !== null);
  const first = (line: string) => line.split(" ")[0]!.replace(/^relay\/.*/, "relay");
  const lines = (text: string) => text.trim().split("\n").map(first);
  deq(lines(blockWith("audit.md", "next <the new key>").text), lines(signed));
});

Deno.test("docs/architecture.md: the folders of its tree exist", () => {
  const { text } = blockWith("architecture.md", "main.ts ");
  const named = [...text.matchAll(/^(?:[├└]─ )?(\S+)/gm)].map(([, path]) => path!);
  eq(named.length, 7);
  deq(named.filter((path) => !existsSync(new URL(path, ROOT))), []);
});

Deno.test("docs/tokens.md: the relay accepts the configuration of an issuer", () => {
  parseConfig(blockWith("tokens.md", '"issuers"').text);
});

Deno.test("docs/shield.md: the settings accept the policy", () => {
  const body = JSON.stringify({ policy: jsonOf("shield.md", '"web-restarts"') });
  eq(requestFault({ method: "PATCH", address: "/api/shield/settings", body }), null);
});

Deno.test("docs/webhooks.md: the body has the payload of its event", () => {
  const { payload, event_type } = jsonOf("webhooks.md", '"event_id"');
  WEBHOOK_EVENTS[event_type as "command_denied"].payload.parse(payload);
});

Deno.test("docs/limits.md, docs/mcp.md: the errors have codes of the table", () => {
  const { code, details } = jsonOf("limits.md", '"RATE_LIMIT_EXCEEDED"').error;
  ok(code in FAULTS);
  const [method, address] = details.raise.how.split(" ");
  eq(requestFault({ method, address }), null);
  const { error } = jsonOf("mcp.md", '"jsonrpc": "2.0"');
  ok(error.data.code in FAULTS);
  eq(FAULTS[error.data.code as "FORBIDDEN"].status, error.code);
});

Deno.test("docs/mcp.md: every configuration of a client names an address of Relay", () => {
  const remote = [
    jsonOf("mcp.md", "${env:RELAY_KEY}").mcpServers.relay.url,
    jsonOf("mcp.md", "${input:relay-key}").servers.relay.url,
    jsonOf("mcp.md", '"httpUrl"').mcpServers.relay.httpUrl,
    /url = "(.*)"/.exec(blockWith("mcp.md", "[mcp_servers.relay]").text)![1],
    blockWith("mcp.md", "sign_in=required").text.trim().replace("&sign_in=required", ""),
  ];
  for (const url of remote) ok(/^https?:\/\/[^/]+\/mcp\?tools=common$/.test(url), url);
});

Deno.test("docs/alerts.md: Alertmanager sends to an endpoint", () => {
  const { receivers: [{ webhook_configs: [hook] }] } = parse(
    blockWith("alerts.md", "webhook_configs").text,
  );
  eq(requestFault({ method: "POST", address: new URL(hook.url).pathname }), null);
});
