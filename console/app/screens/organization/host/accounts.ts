import { useEffect } from "preact/hooks";
import { type Account, call } from "../../../api.ts";
import { Badge } from "../../../components/badge.ts";
import { ChoiceFilter } from "../../../components/filters.ts";
import { Empty } from "../../../components/states.ts";
import { type Column, Table } from "../../../components/table.ts";
import { Time } from "../../../components/time.ts";
import { onOneLine } from "../../../components/visible_text.ts";
import { html } from "htm/preact";
import { offsetPage, usePages } from "../../../pages.ts";
import { addressOf, placeWith, query } from "../../../router.ts";
import { AccountCard } from "./account.ts";
import { limitWords } from "../../../components/limit_words.ts";

const COLUMNS: readonly Column<Account>[] = [
  {
    title: "Organization",
    width: "minmax(10rem, 2fr)",
    cell: ({ id, name, host }) =>
      html`
        <a href=${addressOf(placeWith({ account: id }))}>${onOneLine(name)}</a>
        ${host && html`<span class="label">host</span>`}
      `,
  },
  {
    title: "State",
    width: "7rem",
    cell: ({ active }) => html`<${Badge} state=${active ? "active" : "deactivated"} />`,
  },
  { title: "Plan", width: "8rem", cell: ({ plan_name }) => onOneLine(plan_name) },
  {
    title: "Requests a minute",
    width: "9rem",
    wideOnly: true,
    cell: ({ requests_per_minute }) => limitWords(requests_per_minute),
  },
  { title: "People", width: "5rem", cell: ({ users }) => users },
  {
    title: "Created",
    width: "8rem",
    wideOnly: true,
    cell: ({ created_at }) => html`<${Time} at=${created_at} />`,
  },
];

/** All organizations of the installation. */
export function Accounts() {
  const { active = "", account } = query.value;
  const list = usePages(
    async (from, signal) => {
      const { accounts, pagination } = await call("accounts.list", {
        query: {
          limit: 100,
          offset: Number(from ?? 0),
          ...active !== "" && { active: active === "active" ? "true" : "false" },
        },
        signal,
      });
      return offsetPage(accounts, pagination);
    },
    [active],
    { types: ["account", "organization", "limits", "plan"] },
  );
  const { rows } = list;
  const chosen = rows?.find(({ id }) => id === account);
  useEffect(() => {
    // The one that the address names may be on a later page.
    if (account !== undefined && chosen === undefined && rows !== null && list.hasMore) {
      list.see(0, rows.length);
    }
  }, [account, rows]);
  return html`
    <h2>Organizations</h2>
    <div class="filters">
      <${ChoiceFilter} name="active" label="State" choices=${["active", "deactivated"]} />
    </div>
    ${chosen !== undefined &&
      html`<${AccountCard} key=${chosen.id} account=${chosen} onChanged=${list.again} />`}
    <${Table}
      label="Organizations" list=${list} columns=${COLUMNS} keyOf=${({ id }: Account) => id}
      opens=${({ id }: Account) => placeWith({ account: id })}
      empty=${html`<${Empty} title="No organizations match" />`}
    />
  `;
}
