import { z } from "zod";
import { OWN_EVENTS } from "../../core/events/emit.ts";
import { RESOURCE_READERS } from "../../core/events/types/resources.ts";
import { isWebhookEvent } from "../../core/events/types/webhook_events.ts";

/** The text of docs/audit-events.md: every event type that Relay writes, from the tables of types. */
export function eventsPage(): string {
  const types = Object.keys(OWN_EVENTS).sort();
  return `${HEAD}${types.map(rowOf).join("\n")}\n\n${types.map(sectionOf).join("\n\n")}\n\n` +
    `${RESOURCES}${Object.entries(RESOURCE_READERS).map(readersOf).join("\n")}\n`;
}

/** A table row: a resource type and the rights of which one is needed to hear of its changes. */
const readersOf = ([type, readers]: [string, readonly string[]]): string =>
  `| \`${type}\` | ${
    readers.map((reader) => reader === "own" ? "your own" : `\`${reader}\``).join(" or ")
  } |`;

/** A table row: link, meaning, and whether webhooks carry the type. */
const rowOf = (type: string): string =>
  `| [\`${type}\`](#${type}) | ${OWN_EVENTS[type]!.meaning} | ${
    isWebhookEvent(type) ? "yes" : ""
  } |`;

function sectionOf(type: string): string {
  const { meaning, details, example } = OWN_EVENTS[type]!;
  const shown = JSON.stringify(example, null, 2);
  return `## \`${type}\`\n\n${meaning}\n\nSchema:\n\n\`\`\`json\n${
    schemaText(details)
  }\n\`\`\`\n\n` +
    `Example:\n\n\`\`\`json\n${shown}\n\`\`\``;
}

/** A JSON Schema with one field a line. */
function schemaText(details: z.ZodObject): string {
  const { $schema: _, properties, ...rest } = z.toJSONSchema(details, { override: shorten });
  const fields = Object.entries(properties!)
    .map(([name, field]) => `\n    ${JSON.stringify(name)}: ${JSON.stringify(field)}`);
  const others = Object.entries(rest)
    .map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  const below = fields.length === 0 ? "" : `${fields.join(",")}\n  `;
  return `{\n${others.join(",\n")},\n  "properties": {${below}}\n}`;
}

/** Omits what does not inform a reader: patterns of formats, and the limits of safe integers. */
function shorten({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.format?.startsWith("date")) delete jsonSchema.pattern;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
}

const EXAMPLE_ROW = {
  seq: 12,
  actor: "key_0o5uatc00000006",
  details: OWN_EVENTS.api_key_used!.example,
  event_id: "51e7727e-f969-4887-aa06-5f7850849df8",
  event_type: "api_key_used",
  organization_id: "org_0o5uatc00000003",
  request_id: "ac05e6d0-3d99-422a-a117-2a954365abe3",
  resource_id: "key_0o5uatc00000006",
  resource_type: "api_key",
  timestamp: "2030-01-01T00:00:00.000Z",
};

const RESOURCES = `## Resource types

[Streams](streams.md#changes) announce a changed resource to holders of any of these rights. *Your own* is
what you changed, and your own user. Changes of types without a right are not announced: the API shows no
such resource, or only its \`notification\` message does.

| \`resource_type\` | Needs |
| --------------- | ----- |
`;

const HEAD = `# Events of the audit log

This page is for programs and auditors who read the audit log. It lists every event type with a schema and
an example. \`deno task docs\` writes it from the tables in the source; a test checks that it is current.

Every row has \`seq\`, \`event_id\`, \`event_type\`, \`timestamp\`, \`actor\`, \`organization_id\`,
\`resource_type\`, \`resource_id\` and \`details\`. \`agent_id\` and \`request_id\` are present where they
apply, and \`trace_id\` with \`span_id\` where the request was [traced](telemetry.md#traces).
\`mcp_grant_id\` is present where an MCP client acted for the actor:

\`\`\`json
${JSON.stringify(EXAMPLE_ROW, null, 2)}
\`\`\`

The table below links to the JSON Schema (draft 2020-12) of each type's \`details\` and an example. Webhooks
carry the details of some types as their \`payload\`. Callers may register other types with
\`POST /api/audit/event\`, and \`user_login\` for their own sign-ins. Such a row has the
\`resource_type\` \`external\`; its details are what the caller sent, and \`reported_by\`.

| Event type | What happened | By webhook |
| ---------- | ------------- | ---------- |
`;
