/**
 * How each fenced block of docs/ is checked, by its page and a part of its text.
 * Blocks that `deno task docs` writes are compared with their tables instead.
 *
 * - `RUN`: tests/docs/live/ runs it against a relay with agents, or compares it with what they answer.
 * - A path: that test checks it, and names the page.
 * - `names(reason)`: only its commands, options, variables, endpoints, bodies and files are looked up, by
 *   names_test.ts, because the machine of a test cannot run it.
 */
export const RUN = "run";

/** A block whose names alone are checked. */
export interface NamesOnly {
  readonly reason: string;
}
const names = (reason: string): NamesOnly => ({ reason });

const SAMPLES = "tests/docs/samples_test.ts";
const PROTOCOL = "tests/agent_program/protocol_page_test.ts";
const CLIENTS = "tests/clients/generated.ts";
const RECIPES = "tests/delivery/webhooks/documentation_test.ts";
const NOT_ROOT = names("it changes users or services of the machine");
const CONTAINERS = names("it needs a container daemon; tests/deploy/ runs what the image runs");
const REPORTED = names("it shows a fault of another project, without a name of Relay");

type Check = typeof RUN | NamesOnly | `tests/${string}`;
type Row = readonly [page: string, part: string, check: Check];

export const CHECKS: readonly Row[] = [
  ["agent-protocol.md", "relay.agent.v1⏎", SAMPLES],
  ["agent-protocol.md", "relay.welcome.v1⏎", SAMPLES],
  ["agent-protocol.md", "relay.verdict.v1⏎", SAMPLES],
  ["agent-protocol.md", "relay.receipt.v1⏎", SAMPLES],
  ["agent-protocol.md", "relay.policy.v1⏎", SAMPLES],
  ["agent-protocol.md", "relay.transfer.v1⏎", SAMPLES],
  ["agent-protocol.md", "relay.upgrade.v1⏎", SAMPLES],
  ["agent-protocol.md", "relay.handover.v1⏎", SAMPLES],
  ["agent-protocol.md", "/api/v1/heartbeat", RUN],
  ["agent-protocol.md", '< {"type":"challenge"', PROTOCOL],
  ["alerts.md", "/api/audit?thread=", RUN],
  ["alerts.md", "/api/shield/ingest", RUN],
  ["alerts.md", "/api/v1/ingest-tokens", RUN],
  ["alerts.md", "webhook_configs", SAMPLES],
  ["alerts.md", "setWebhook", names("it calls Telegram")],
  ["approvals.md", "/api/exec/", RUN],
  ["approvals.md", "/api/shield/approvals?", RUN],
  ["approvals.md", "confirm_self_approval", RUN],
  ["architecture.md", "main.ts ", SAMPLES],
  ["audit.md", "/api/audit/export", RUN],
  ["audit.md", "<number of rows>", RUN],
  ["audit.md", "relay audit verify", RUN],
  ["audit.md", "next <the new key>", SAMPLES],
  ["backup.md", "relay compact ", RUN],
  ["backup.md", "every_hours", RUN],
  ["backup.md", "install -m 600", RUN],
  ["backup.md", "$ relay doctor", RUN],
  ["cli.md", "relay login --url relay.example.com\n", RUN],
  ["cli.md", "--confirm", RUN],
  ["cli.md", "--sign-up", RUN],
  ["cli.md", "--token-stdin", RUN],
  ["cli.md", "xargs", RUN],
  ["cli.md", "relay pair web-1", RUN],
  ["cli.md", "exit 7", RUN],
  ["cli.md", "relay shield test", RUN],
  ["cli.md", "--stop-after-failures", RUN],
  ["clients.md", "export RELAY_URL", RUN],
  ["clients.md", "npm install --no-audit --no-fund openapi-typescript", CLIENTS],
  ["clients.md", 'openapi-fetch";', CLIENTS],
  ["clients.md", "npx tsc", CLIENTS],
  ["clients.md", "npm install --no-audit --no-fund @hey-api", CLIENTS],
  ["clients.md", "client.gen", CLIENTS],
  ["clients.md", "python3 -m venv", CLIENTS],
  ["clients.md", "# main.py", CLIENTS],
  ["clients.md", "mypy --strict", CLIENTS],
  ["clients.md", "go mod init", CLIENTS],
  ["clients.md", "// main.go", CLIENTS],
  ["clients.md", "go run .\n", CLIENTS],
  ["command-lists.md", "/api/v1/commands?", RUN],
  ["compliance.md", "/api/v1/compliance/report/generate", RUN],
  ["compliance.md", "/api/v1/compliance/schedule", RUN],
  ["compliance.md", "relay evidence 2026-Q3", RUN],
  ["compliance.md", "relay-evidence/1", RUN],
  ["compliance.md", "relay evidence verify", RUN],
  ["compliance.md", "import hashlib, json", RUN],
  ["deploy.md", "install.sh", names("it downloads a release; tests/build/ runs the installer")],
  ["deploy.md", "gh attestation", names("it asks GitHub about a release")],
  ["deploy.md", "deno task build", names("it takes minutes; tests/build/ builds the bundle")],
  ["deploy.md", "useradd --system", NOT_ROOT],
  ["deploy.md", "docker build", CONTAINERS],
  ["deploy.md", "denokv --sqlite-path", names("it needs denokv; tests/cluster/ runs instances")],
  ["deploy.md", "ip route change", NOT_ROOT],
  ["deploy.md", "trusted_proxies", names("it is a file of variables, and starts nothing")],
  ["devices.md", "relay pair web-1", RUN],
  ["devices.md", "/api/v1/agents/vm", RUN],
  ["devices.md", "useradd", NOT_ROOT],
  ["fleet-commands.md", "relay exec -l", RUN],
  ["getting-started.md", "relay serve", RUN],
  ["getting-started.md", "relay login", RUN],
  ["getting-started.md", "relay pair web-1", RUN],
  ["getting-started.md", "relay agent pair", RUN],
  ["getting-started.md", "for i in", RUN],
  ["getting-started.md", "systemctl stop nginx", RUN],
  ["getting-started.md", "relay approvals ls", RUN],
  ["getting-started.md", "relay audit ls", RUN],
  ["keys.md", "/api/v1/api-keys ", RUN],
  ["keys.md", "/rotate", RUN],
  ["keys.md", "Deprecation:", RUN],
  ["limits.md", "RATE_LIMIT_EXCEEDED", SAMPLES],
  ["limits.md", "<key id>", RUN],
  ["mcp.md", "relay login", RUN],
  ["mcp.md", "relay keys create", RUN],
  ["mcp.md", "claude mcp add", names("it needs Claude Code")],
  ["mcp.md", "${env:RELAY_KEY}", SAMPLES],
  ["mcp.md", "${input:relay-key}", SAMPLES],
  ["mcp.md", "[mcp_servers.relay]", SAMPLES],
  ["mcp.md", '"httpUrl"', SAMPLES],
  [
    "mcp.md",
    "StreamableHTTPClientTransport",
    names("it needs the official client; deno task test:mcp connects it"),
  ],
  ["mcp.md", "tools/list", RUN],
  ["mcp.md", "sign_in=required", SAMPLES],
  ["mcp.md", '"jsonrpc": "2.0"', SAMPLES],
  ["metrics.md", "relay keys create", RUN],
  ["policy.md", "name: production", "tests/policies/document_test.ts"],
  ["secrets.md", "relay secret rotate        #", RUN],
  ["secrets.md", "relay signing-keys rotate", RUN],
  ["shield.md", '"web-restarts"', SAMPLES],
  ["streams.md", "/api/events?types=", RUN],
  ["streams.md", "event: changed", RUN],
  ["streams.md", "async function* messages", "tests/e2e/streams_test.ts"],
  ["streams.md", "/output", RUN],
  ["streams.md", "event: status", RUN],
  ["streams.md", '"type":"follow"', RUN],
  ["telemetry.md", '"message": "request"', RUN],
  ["telemetry.md", "OTEL_DENO=true", RUN],
  ["tokens.md", '"issuers"', SAMPLES],
  ["typescript.md", "RelayError", RUN],
  ["typescript.md", "relay.stream", RUN],
  ["typescript.md", "whsec_…", RUN],
  ["upgrades.md", "relay agents ls --outdated", RUN],
  ["upgrades.md", "RELAY_AGENT_PROGRAMS", names("it builds a bundle and installs it in /srv")],
  ["upgrades.md", "relay agents upgrade", names("agents that run from source are not upgraded")],
  ["upstream.md", "denokv --sqlite-path", REPORTED],
  ["upstream.md", "const p50", REPORTED],
  ["upstream.md", "server → client", REPORTED],
  ["upstream.md", "set_nodelay", REPORTED],
  ["webhooks.md", "/api/v1/webhooks ", RUN],
  ["webhooks.md", '"event_id"', RUN],
  ["webhooks.md", "hmac.compare_digest", RECIPES],
  ["webhooks.md", "timingSafeEqual", RECIPES],
  ["webhooks.md", "hmac.Equal", RECIPES],
  ["webhooks.md", "relay listen", RUN],
];
