import { z } from "zod";
import { AUDIT_EVENTS } from "../events.ts";
import { WEBHOOK_EVENTS } from "../webhooks/event_types.ts";

/** docs/audit-events.md: every event type that Relay writes, from the tables that declare them. */
export function eventsPage(): string {
  const head = `# Events of the audit log

Written by \`deno task docs\` from the tables in the source; a test checks that it is current. Every
row has \`seq\`, \`event_id\`, \`event_type\`, \`timestamp\`, \`actor\`, \`organization_id\`,
\`resource_type\`, \`resource_id\` and \`details\`, and where they apply \`agent_id\` and
\`request_id\`. Callers may register other types with \`POST /api/audit/event\`.

\`\`\`json
${JSON.stringify(EXAMPLE_ROW, null, 2)}
\`\`\`

## Events that only the audit log has

\`details\` is a JSON object.

`;
  const own = Object.entries(AUDIT_EVENTS).sort(byName)
    .map(([type, meaning]) => `- \`${type}\`: ${meaning}`);
  const sent = Object.entries(WEBHOOK_EVENTS).sort(byName).map(([type, event]) => {
    const { meaning, payload, example } = event;
    const schema = z.toJSONSchema(payload) as { properties?: Record<string, Field> };
    const required = (schema as { required?: string[] }).required ?? [];
    const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => {
      const kind = field.type ?? (field.anyOf ?? []).map(({ type }) => type).join(" or ");
      const optional = required.includes(name) ? "" : ", optional";
      const about = field.description ?? "";
      return `- \`${name}\` (${kind || "any"}${optional})${about === "" ? "" : `: ${about}`}`;
    });
    const shown = JSON.stringify(example, null, 2);
    return `### \`${type}\`\n\n${meaning}\n\n${fields.join("\n")}\n\n\`\`\`json\n${shown}\n\`\`\``;
  });
  return `${head}${own.join("\n")}\n\n## Events that webhooks carry too\n\n` +
    `\`details\` is what a webhook has as \`payload\`.\n\n${sent.join("\n\n")}\n`;
}

interface Field {
  readonly type?: string;
  readonly description?: string;
  readonly anyOf?: readonly { readonly type?: string }[];
}

const byName = ([a]: [string, unknown], [b]: [string, unknown]) => a < b ? -1 : 1;

const EXAMPLE_ROW = {
  seq: 12,
  actor: "key_0o5uatc00000006",
  details: { endpoint: "GET /api/v1/agents", status: 200 },
  event_id: "51e7727e-f969-4887-aa06-5f7850849df8",
  event_type: "api_key_used",
  organization_id: "org_0o5uatc00000003",
  request_id: "ac05e6d0-3d99-422a-a117-2a954365abe3",
  resource_id: "key_0o5uatc00000006",
  resource_type: "api_key",
  timestamp: "2030-01-01T00:00:00.000Z",
};
