import type { ApiKey, ApiKeyExplanation, Space } from "../../client/client.ts";
import { UsageError } from "../arguments.ts";
import { confirmed } from "./ask.ts";
import type { Run } from "./command.ts";

/** `relay keys ls` */
export const listKeys: Run = async ({ relay, text, number, out }) => {
  const answer = await relay().call("api_keys.list", {
    query: {
      type: text("type") as Space | undefined,
      limit: number("limit"),
      offset: number("offset"),
    },
  });
  await out.list(
    answer,
    ["ID", "NAME", "TYPE", "STATUS", "EXPIRES", "LAST USED", "SCOPES"],
    answer.api_keys.map((key) =>
      [
        key.id,
        key.name,
        key.type,
        key.status,
        key.expires_at,
        key.last_used,
        key.scopes.join(","),
      ] as const
    ),
  );
  const { has_more, total } = answer.pagination;
  if (has_more) await out.note(`${answer.api_keys.length} of ${total}: use --offset.`);
};

/** `relay keys create` */
export const createKey: Run = async (
  { relay, args: [name = ""], text, number, list, has, out },
) => {
  const scopes = list("scope");
  if (scopes.length === 0) throw new UsageError("Give the key a right: --scope agents:read.");
  const key = await relay().call("api_keys.create", {
    body: {
      name,
      scopes: scopes as ApiKey["scopes"],
      description: text("description"),
      expires_days: number("expires-days"),
      type: has("test") ? "test" : "live",
    },
  });
  await out.item(key, key.key, [
    ["id", key.id],
    ["key", key.key],
    ["expires", key.expires_at],
  ]);
  await out.note("Store the key now: no later answer shows it.");
};

/** `relay keys rotate` */
export const rotateKey: Run = async ({ relay, args: [id = ""], number, out }) => {
  if (id === "verdict" || id === "audit") {
    throw new UsageError(`Signing keys have their own command: relay signing-keys rotate ${id}.`);
  }
  const rotation = await relay().call("api_keys.rotate", {
    params: { id },
    body: { grace_period_hours: number("grace-hours") },
  });
  await out.item(rotation, rotation.new_key, [
    ["id", rotation.id],
    ["new key", rotation.new_key],
    ["old key works until", rotation.grace_period_ends],
  ]);
  await out.note("Store the new key now: no later answer shows it.");
};

/** `relay keys revoke` */
export const revokeKey: Run = async (call) => {
  const { relay, args: [id = ""], has, out } = call;
  const [cascade, dry_run] = [has("cascade"), has("dry-run")];
  const client = relay();
  if (!dry_run) {
    const { name } = await client.call("api_keys.get", { params: { id } });
    if (!confirmed(call, `Revoke the key ${name}?`)) return 1;
  }
  const answer = await client.call("api_keys.revoke", {
    params: { id },
    body: { cascade, dry_run },
  });
  await out.item(answer, answer.id, [
    ["id", answer.id],
    ["name", answer.name],
    ["status", answer.status],
    ["ended with it", answer.ended_total],
    ["made with it, still working", answer.would_end_total],
  ]);
};

/** `relay keys explain` */
export const explainKey: Run = async ({ relay, args: [id = "", scope = ""], out }) => {
  const explanation = await relay().call("api_keys.explain", {
    params: { id },
    query: { scope: scope as ApiKeyExplanation["scope"] },
  });
  await out.item(explanation, explanation.allowed ? "allowed" : "refused", [
    [explanation.scope, explanation.allowed ? "allowed" : "refused"],
    ...explanation.reasons.map(({ check, ok, message }) =>
      [`${ok ? "ok" : "no"} ${check}`, message] as const
    ),
  ]);
  return explanation.allowed ? 0 : 1;
};
