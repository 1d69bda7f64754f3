import { strictEqual as eq } from "node:assert/strict";
import { routes } from "../../routes/index.ts";

const KEY = { name: "key", scopes: ["agents:read"] };
const WEBHOOK = {
  name: "hook",
  url: "https://hooks.example.com/x",
  secret: "sixteen characters",
  events: ["agent_created"],
};
const REPOSITORY = {
  name: "policies",
  provider: "github",
  url: "https://github.com/acme/policies",
};
const APPLY = { repo_url: REPOSITORY.url, branch: "main", policy_path: "" };
const EVENT = { event_type: "own", actor: "somebody", details: {} };

/** The least and the most that a field takes, as the pages and the interface say. */
const NUMBERS: readonly (readonly [string, object, string, number, number])[] = [
  ["api_keys.create", KEY, "expires_days", 1, 3650],
  ["api_keys.rotate", {}, "grace_period_hours", 0, 168],
  ["invitations.create", {}, "expires_days", 1, 30],
  ["commands.exec", { command: "id" }, "timeout", 1, 600],
  ["commands.start", { command: "id" }, "timeout", 1, 600],
  ["commands.start", { command: "id" }, "wait", 0, 60],
  ["webhooks.create", WEBHOOK, "retry_policy.max_retries", 1, 12],
  ["webhooks.create", WEBHOOK, "retry_policy.timeout_seconds", 1, 10],
  ["gitops.create_repository", REPOSITORY, "sync_seconds", 60, 86_400],
  ["gitops.apply", APPLY, "replay", 1, 10_000],
  ["webhooks.list", {}, "limit", 1, 200],
  ["webhooks.list", {}, "offset", 0, 10_000],
];

/** The most characters of a text, and the most bytes of an object. */
const SIZES: readonly (readonly [string, object, string, number, "characters" | "bytes"])[] = [
  ["api_keys.create", KEY, "name", 100, "characters"],
  ["api_keys.create", KEY, "description", 1_000, "characters"],
  ["api_keys.create", KEY, "metadata", 16_384, "bytes"],
  ["commands.exec", {}, "command", 16_384, "characters"],
  ["commands.start", {}, "command", 16_384, "characters"],
  ["audit.register", EVENT, "details", 8_192, "bytes"],
];

/** Whether a route takes an input in which one field, which may lie within another, has this value. */
function takes(id: string, rest: object, field: string, value: unknown): boolean {
  const { body, query } = routes.find((route) => route.id === id)!;
  const said = field.split(".").reduceRight((inner, name) => ({ [name]: inner }), value);
  return (body ?? query)!.safeParse({ ...rest, ...said as object }).success;
}

Deno.test("bounds: every number is accepted within its declared bounds only", () => {
  for (const [id, rest, field, least, most] of NUMBERS) {
    for (const value of [least - 1, least, most, most + 1]) {
      const within = value >= least && value <= most;
      eq(takes(id, rest, field, value), within, `${id} ${field} ${value}`);
    }
  }
});

Deno.test("bounds: every text and object is accepted up to its declared maximum only", () => {
  const empty = JSON.stringify({ x: "" }).length;
  for (const [id, rest, field, most, unit] of SIZES) {
    for (const size of [most, most + 1]) {
      const value = unit === "characters" ? "a".repeat(size) : { x: "a".repeat(size - empty) };
      eq(takes(id, rest, field, value), size === most, `${id} ${field} of ${size} ${unit}`);
    }
  }
});
