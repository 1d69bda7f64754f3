import { Badge } from "../../../components/badge.ts";
import { Name } from "../../../components/names.ts";
import { Records } from "./records.ts";
import { ExactTime } from "../../../components/time.ts";
import { onOneLine, VisibleText } from "../../../components/visible_text.ts";
import { html } from "htm/preact";
import { PointerTo } from "./report_controls.ts";
import type { Pack } from "./report_types.ts";

/** The rules for commands when the report was made. */
export function PoliciesPart({ policies }: { readonly policies: NonNullable<Pack["policies"]> }) {
  const { version, mode, agents_in_other_modes, approvals, policy, applied } = policies;
  const others = Object.entries(agents_in_other_modes);
  return html`
    <section class="part">
      <h2>Policies in force when the report was made</h2>
      <dl class="facts">
        <dt>Version</dt><dd><code>${version}</code></dd>
        <dt>Mode</dt><dd>${mode}</dd>
        <dt>Agents in other modes</dt>
        <dd>${others.length === 0
          ? "none"
          : others.map(([mode, n]) => `${n} in ${mode}`).join(", ")}</dd>
        <dt>Approvals required</dt><dd>${approvals.required}</dd>
        <dt>Roles that may approve</dt>
        <dd>${approvals.roles.join(", ") || "any with the right"}</dd>
        <dt>Self-approval</dt><dd>${approvals.self_approval ? "allowed" : "not allowed"}</dd>
      </dl>
      ${policy !== null &&
        html`<pre class="terminal"><${VisibleText} text=${
          JSON.stringify(policy, null, 2)
        } /></pre>`}
      ${applied.length > 0 && html`
        <${Records} label="Policies applied from Git" heads=${[
          "Policy",
          "File",
          "Version",
          "Commit",
        ]}
          rows=${applied.map(({ name, path, version, commit }) => [
            onOneLine(name),
            onOneLine(path),
            version,
            html`<code title=${commit}>${commit.slice(0, 12)}</code>`,
          ])} />
      `}
    </section>
  `;
}

/** Decisions about held commands. */
export function ApprovalsPart({ resolved }: {
  readonly resolved: NonNullable<Pack["approvals"]>["resolved"];
}) {
  const name = (id: string | null) => id === null ? "" : html`<${Name} id=${id} />`;
  return html`
    <section class="part">
      <h2>Approvals decided in the period</h2>
      ${resolved.length === 0 ? html`<p>None.</p>` : html`
        <${Records} label="Approvals"
          heads=${["Time", "Command", "Agent", "Requested by", "Decision", "Decided by", "Reason"]}
          rows=${resolved.map((row) => [
            html`<${PointerTo} row=${row} />`,
            html`<code><${VisibleText} text=${row.command} /></code>`,
            name(row.agent_id),
            name(row.requested_by),
            html`<${Badge} state=${row.decision} />`,
            name(row.decided_by),
            row.reason === null ? "" : onOneLine(row.reason),
          ])} />
      `}
    </section>
  `;
}

/** Who had access when the report was made. */
export function AccessPart({ access: { users, api_keys, roles } }: {
  readonly access: NonNullable<Pack["access"]>;
}) {
  const time = (at: string | null) => at === null ? "none" : html`<${ExactTime} at=${at} />`;
  return html`
    <section class="part">
      <h2>Users when the report was made</h2>
      <p>${users.total.toLocaleString()} in all.</p>
      <${Records} label="Users" heads=${["User", "Roles", "Rows", "Last row", "Remarks"]}
        rows=${users.listed.map((user) => [
          html`<span title=${user.id}>${onOneLine(user.email)}</span>`,
          user.roles.join(", "),
          user.rows_in_period ?? "not counted",
          time(user.last_row_at),
          user.remarks.join("; "),
        ])} />
    </section>
    ${roles !== undefined && html`
      <section class="part">
        <h2>What each role allows</h2>
        <${Records} label="Roles" heads=${["Role", "Rights"]}
          rows=${roles.map(({ name, rights }) => [onOneLine(name), rights.join(", ")])} />
      </section>
    `}
    <section class="part">
      <h2>API keys when the report was made</h2>
      <p>${api_keys.total.toLocaleString()} in all, of which ${api_keys.usable} work.</p>
      ${api_keys.listed.length > 0 && html`
        <${Records} label="API keys"
          heads=${[
            "Key",
            "Status",
            "Rights",
            "Created by",
            "Age of its value",
            "Rows",
            "Last row",
            "Remarks",
          ]}
          rows=${api_keys.listed.map((key) => [
            html`<span title=${key.id}>${onOneLine(key.name)}</span>`,
            html`<${Badge} state=${key.status} />`,
            (key.rights ?? key.scopes).join(", "),
            html`<${Name} id=${key.created_by} />`,
            `${key.value_age_days} days`,
            key.rows_in_period ?? "not counted",
            time(key.last_row_at),
            key.remarks.join("; "),
          ])} />
      `}
    </section>
  `;
}

/** What came of the commands of each agent. */
export function AgentsPart({ agents }: {
  readonly agents: NonNullable<Pack["commands"]>["by_agent"];
}) {
  return html`
    <section class="part">
      <h2>Commands by agent</h2>
      <${Records} label="Commands by agent" heads=${["Agent", "Outcomes"]}
        rows=${agents.map(({ agent_id, ...outcomes }) => [
          html`<${Name} id=${agent_id} />`,
          Object.entries(outcomes).map(([name, rows]) => `${name.replaceAll("_", " ")}: ${rows}`)
            .join(", "),
        ])} />
    </section>
  `;
}
