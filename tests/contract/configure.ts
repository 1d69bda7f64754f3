import type { Ids } from "./seed.ts";

/** How often a field of a body or a query is the id of something that is there. */
const REAL_SHARE = 0.6;

/** The resource in a path that a parameter's value is an id of, where their names tell not. */
const RESOURCES: Readonly<Record<string, string>> = {
  "admin/accounts": "organizations",
  "admin/limits": "organizations",
  "api-keys": "keys",
  "ingest-tokens": "ingest_tokens",
  "repos": "repositories",
  "telegram-links": "telegram_links",
};
const PARAMETERS: Readonly<Record<string, string>> = {
  "path.agent_id": "agents",
  "path.command_id": "commands",
  "path.del_id": "deliveries",
  "path.event_id": "event_id",
  "path.name": "roles",
  "path.pid": "approvals",
  "path.recovery_id": "recoveries",
  "path.user_id": "users",
  "query.agent_id": "agents",
  "body.agent_id": "agents",
  "body.alert_id": "alerts",
  "body.backup_id": "backups",
  "body.device_id": "devices",
  "body.integration_id": "integrations",
  "body.pairing_code": "codes",
  "body.plan_id": "plans",
  "body.user_id": "users",
};

/** An OpenAPI document, as far as it matters here. */
export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { operationId: string }>>>>;
}

/** The ids of real records for the path parameters of each operation. */
export function pathIds({ paths }: Document, ids: Ids): Record<string, Ids> {
  const entries = Object.entries(paths).flatMap(([path, operations]) => {
    const known = Object.fromEntries(
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name!, ids[kindOf(path, name!)] ?? []])
        .filter(([, values]) => values!.length > 0),
    );
    return Object.values(operations).map(({ operationId }) => [operationId, known] as const);
  });
  return Object.fromEntries(entries);
}

function kindOf(path: string, parameter: string): string {
  if (parameter !== "id") return PARAMETERS[`path.${parameter}`] ?? "";
  const parts = path.slice(0, path.indexOf("/{id}")).split("/");
  return RESOURCES[parts.slice(-2).join("/")] ?? RESOURCES[parts.at(-1)!] ?? parts.at(-1)!;
}

/** The configuration of a run, in TOML: which fields take the ids of which records. */
export function configure(ids: Ids): string {
  const known = Object.entries(ids).filter(([, values]) => values.length > 0);
  const names = new Set(known.map(([name]) => name));
  const bound = Object.entries(PARAMETERS).filter(([parameter, name]) =>
    !parameter.startsWith("path.") && names.has(name)
  );
  return [
    // A stream greets, and then says something every 15 s.
    "max-stream-events = 1",
    "[parameters]",
    ...bound.map(([parameter, name]) =>
      `"${parameter}" = { dictionary = "${name}", probability = ${REAL_SHARE} }`
    ),
    ...known.map(([name, values]) => `[dictionaries.${name}]\nvalues = ${JSON.stringify(values)}`),
  ].join("\n");
}
