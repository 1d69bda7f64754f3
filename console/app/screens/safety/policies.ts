import { call, type GitPolicy } from "../../api.ts";
import { Badge } from "../../components/badge.ts";
import { Empty } from "../../components/states.ts";
import { type Column, Table } from "../../components/table.ts";
import { Time } from "../../components/time.ts";
import { onOneLine } from "../../components/visible_text.ts";
import { html } from "htm/preact";
import { offsetPage, usePages } from "../../pages.ts";
import { addressOf } from "../../router.ts";
import { may } from "../../session.ts";
import { GuardSummary } from "./guard_summary.ts";
import { PolicyTabs } from "./policy_tabs.ts";

const COLUMNS: readonly Column<GitPolicy>[] = [
  {
    title: "Policy",
    width: "minmax(9rem, 2fr)",
    cell: ({ id, name }) => html`<a href=${addressOf(`/policies/${id}`)}>${onOneLine(name)}</a>`,
  },
  {
    title: "In force",
    width: "9rem",
    cell: ({ version, latest_version, pinned }) =>
      html`version ${version}${" "}${
        pinned !== null && html`
          <${Badge} state="pinned" tone="warn" />
        `
      }${
        pinned === null && version !== latest_version && html`
          <span class="soft">of ${latest_version}</span>
        `
      }`,
  },
  {
    title: "Agents",
    width: "minmax(7rem, 1fr)",
    cell: ({ agent_labels }) => {
      const labels = Object.entries(agent_labels);
      return labels.length === 0 ? "all agents" : labels.map(([name, value]) =>
        html`
          <span class="label">${onOneLine(`${name}=${value}`)}</span>
        `
      );
    },
  },
  {
    title: "File",
    width: "minmax(8rem, 2fr)",
    wideOnly: true,
    cell: ({ path }) => html`<span class="soft">${onOneLine(path)}</span>`,
  },
  {
    title: "Commit",
    width: "6rem",
    wideOnly: true,
    cell: ({ commit }) => html`<code title=${commit}>${commit.slice(0, 8)}</code>`,
  },
  {
    title: "Changed",
    width: "7rem",
    cell: ({ updated_at }) => html`<${Time} at=${updated_at} />`,
  },
];

const LIMIT = 200;

/** The policies in force. */
export default function Policies() {
  const list = usePages(
    async (from, signal) => {
      const { policies, pagination } = await call("gitops.list_policies", {
        query: { limit: LIMIT, offset: Number(from ?? 0) },
        signal,
      });
      return offsetPage(policies, pagination);
    },
    [],
    { types: ["policy", "repository"] },
  );
  return html`
    <div class="title">
      <h1>Policies</h1>
      ${may("system:read") && html`
        <a class="button" href=${addressOf("/playground")}>Try a command</a>
      `}
    </div>
    <${PolicyTabs} />
    <${GuardSummary} />
    <${Table}
      label="Policies in force" list=${list} columns=${COLUMNS} keyOf=${({ id }: GitPolicy) => id}
      opens=${({ id }: GitPolicy) => `/policies/${id}`}
      empty=${html`
        <${Empty} title="No policy from Git is in force">
          <p>
            The shield's own rules judge every command. Policies of yours come from a Git repository,
            where their history and reviews are.
          </p>
          ${may("policy:write") && html`
            <p><a class="button primary" href=${addressOf("/policies/repositories")}>
              Add a repository
            </a></p>
          `}
        <//>
      `}
    />
  `;
}
