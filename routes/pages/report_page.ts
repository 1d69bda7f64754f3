import { createHash } from "node:crypto";
import type {
  Access,
  ControlResult,
  DecidedApproval,
  Exception,
  Pack,
  Pointer,
  PoliciesInForce,
  QueryResult,
  ReadReport,
} from "../../core/host/host.ts";
import type { Content } from "../call/route.ts";
import { type Html, inline, markup, type Part, trusted } from "./html.ts";
import { STYLE } from "./report_style.ts";

/** The media type of a page. */
export const HTML = "text/html; charset=utf-8";

const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** A report as one page without scripts, to read and to print. */
export function reportPage(read: ReadReport): Content & { readonly body: string } {
  const { report } = read;
  const title = report?.title ?? `Report ${read.id}`;
  const page = markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}, ${read.period.from.slice(0, 10)} to ${read.period.to.slice(0, 10)}</title>
<style>${trusted(STYLE)}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${report === null ? unfinished(read) : [packPart(report), signature(read)]}
</main>
</body>
</html>
`;
  return {
    type: HTML,
    body: page.markup,
    headers: {
      "content-security-policy": POLICY,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
    },
  };
}

const unfinished = ({ status, progress: { rows_read, rows_total } }: ReadReport): Html =>
  markup`<p class="notice">This report is ${status}. Rows read: ${rows_read} of ${
    rows_total ?? "an unknown number"
  }.</p>`;

function packPart(pack: Pack): Html {
  const { period, organization, log, exceptions } = pack;
  const who = namesIn(pack);
  return markup`${
    facts([
      ["Organization", markup`${who(organization.id)}, ${pack.space} space`],
      ["Period", `${period.from} to ${period.to}${period.ended ? "" : ", not ended yet"}`],
      ["Generated at", pack.generated_at],
      ["Requested by", who(pack.requested_by)],
      ["Report", pack.id],
      ["Rows of the log", `${log.rows} in the period, ${log.size} in all`],
    ])
  }
<p${pack.no_data && trusted(' class="notice"')}>${pack.statement}</p>
<h2>What this report cannot tell</h2>
${list(pack.limitations)}
<h2>Controls</h2>
${pack.controls.map((control) => controlPart(control, pack.queries))}
<h2>Exceptions</h2>
<p>${exceptions.found} rows that a reviewer should look at.</p>
${exceptionTable(exceptions.listed, who)}
${pack.policies && policyPart(pack.policies)}
${pack.approvals && approvalPart(pack.approvals.resolved, who)}
${pack.access && accessPart(pack.access, who)}
${pack.commands && agentPart(pack.commands.by_agent, who)}
<h2>All rows of the period by type</h2>
${
    table(
      ["Event type", "Rows"],
      pack.event_types.map(({ event_type, rows }) => [markup`<code>${event_type}</code>`, rows]),
    )
  }
<h2>How it was counted</h2>
${list(pack.method)}`;
}

function controlPart(control: ControlResult, queries: readonly QueryResult[]): Html {
  const asked = queries.filter(({ id }) => control.queries.includes(id));
  return markup`<h3>${control.title} <span class="soft">${control.references.join(", ")}</span></h3>
<p>${inline(control.shows)} <span class="soft">Not shown: ${
    inline(control.does_not_show)
  }</span></p>
${control.evidence === "none" && markup`<p>The log holds no row on this in the period.</p>`}
${
    table(
      ["Question", "Rows", "First", "Last"],
      asked.map(({ title, rows, first, last }) => [title, rows, pointer(first), pointer(last)]),
    )
  }`;
}

const pointer = (at: Pointer | null): Part => at && `${at.timestamp} (row ${at.seq})`;

/** Shows an id by its name, where the report holds one; the id is then its tooltip. */
type Who = (id: string | null) => Part;

function namesIn({ organization, access, names: stored = {} }: Pack): Who {
  const names = new Map([
    [organization.id, organization.name],
    ...Object.entries(stored),
    ...access?.users.listed.map(({ id, email }) => [id, email] as const) ?? [],
    ...access?.api_keys.listed.map(({ id, name }) => [id, name] as const) ?? [],
  ]);
  return (id) => {
    const name = id === null ? undefined : names.get(id);
    return name === undefined ? id : markup`<span title="${id}">${name}</span>`;
  };
}

const exceptionTable = (listed: readonly Exception[], who: Who): Part =>
  listed.length > 0 && table(
    ["Row", "Time", "Event", "Actor", "Resource"],
    listed.map((row) => [
      row.seq,
      row.timestamp,
      row.event_type,
      who(row.actor),
      markup`<span class="soft">${row.resource_type}</span> ${who(row.resource_id)}`,
    ]),
  );

const policyPart = (policies: PoliciesInForce): Html =>
  markup`<h2>Policies in force when the report was made</h2>
${
    facts([
      ["Version", policies.version],
      ["Mode", policies.mode],
      ["Agents in other modes", JSON.stringify(policies.agents_in_other_modes)],
      ["Approvals required", policies.approvals.required],
      ["Roles that may approve", policies.approvals.roles.join(", ") || "any with the right"],
      ["Self-approval", policies.approvals.self_approval ? "allowed" : "not allowed"],
    ])
  }
${policies.policy !== null && markup`<pre>${JSON.stringify(policies.policy, null, 2)}</pre>`}
${
    policies.applied.length > 0 && table(
      ["Applied from Git", "File", "Version", "Commit"],
      policies.applied.map(({ name, path, version, commit }) => [name, path, version, commit]),
    )
  }`;

const approvalPart = (resolved: readonly DecidedApproval[], who: Who): Html =>
  markup`<h2>Approvals decided in the period</h2>
${
    resolved.length === 0 ? markup`<p>None.</p>` : table(
      ["Row", "Time", "Command", "Agent", "Requested by", "Decision", "Decided by", "Reason"],
      resolved.map((row) => [
        row.seq,
        row.timestamp,
        markup`<code>${row.command}</code>`,
        who(row.agent_id),
        who(row.requested_by),
        row.decision,
        who(row.decided_by),
        row.reason,
      ]),
    )
  }`;

const accessPart = ({ users, api_keys, roles }: Access, who: Who): Html =>
  markup`<h2>Users when the report was made</h2>
<p>${users.total} in all.</p>
${
    table(
      ["User", "Roles", "Rows", "Last row", "Remarks"],
      users.listed.map((user) => [
        who(user.id),
        user.roles.join(", "),
        user.rows_in_period,
        user.last_row_at,
        user.remarks.join("; "),
      ]),
    )
  }
${
    roles && markup`<h2>What each role allows</h2>
${table(["Role", "Rights"], roles.map(({ name, rights }) => [name, rights.join(", ")]))}`
  }
<h2>API keys when the report was made</h2>
<p>${api_keys.total} in all, of which ${api_keys.usable} work.</p>
${
    table(
      ["Key", "Status", "Rights", "Created by", "Age of its value", "Rows", "Last row", "Remarks"],
      api_keys.listed.map((key) => [
        who(key.id),
        key.status,
        (key.rights ?? key.scopes).join(", "),
        who(key.created_by),
        `${key.value_age_days} days`,
        key.rows_in_period,
        key.last_row_at,
        key.remarks.join("; "),
      ]),
    )
  }`;

const agentPart = (agents: NonNullable<Pack["commands"]>["by_agent"], who: Who): Html =>
  markup`<h2>Commands by agent</h2>
${
    table(
      ["Agent", "Outcomes"],
      agents.map(({ agent_id, ...outcomes }) => [
        who(agent_id),
        Object.entries(outcomes).map(([name, rows]) => `${name.replaceAll("_", " ")}: ${rows}`)
          .join(", "),
      ]),
    )
  }`;

const signature = ({ note, public_key, sha256 }: ReadReport): Html =>
  markup`<h2>Signature</h2>
<p>It signs the SHA-256 of this report's canonical JSON, <code>${sha256}</code>, which the same
endpoint gives as JSON. Public key: <code>${public_key}</code></p>
<pre>${note}</pre>`;

const facts = (rows: readonly (readonly [string, Part])[]): Html =>
  markup`<dl>${rows.map(([name, value]) => markup`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;

const list = (items: readonly string[]): Html =>
  markup`<ul>${items.map((item) => markup`<li>${inline(item)}</li>`)}</ul>`;

/** A cell. On a phone, where rows are cards, it shows the name of its column. */
const cell = (value: Part, head: string): Html =>
  typeof value === "number"
    ? markup`<td class="number" data-title="${head}">${value}</td>`
    : markup`<td data-title="${head}">${value}</td>`;

const table = (heads: readonly string[], rows: readonly (readonly Part[])[]): Html =>
  markup`<table><thead><tr>${heads.map((head) => markup`<th>${head}</th>`)}</tr></thead>
<tbody>${
    rows.map((row) =>
      markup`<tr>${row.map((value, n) => cell(value, heads[n]!))}</tr>
`
    )
  }</tbody></table>`;
