import { call, type Secret } from "../../api.ts";
import { Badge } from "../../components/badge.ts";
import { screenOf } from "../../components/names.ts";
import { Empty } from "../../components/states.ts";
import { type Column, Table } from "../../components/table.ts";
import { Time } from "../../components/time.ts";
import { onOneLine } from "../../components/visible_text.ts";
import { html } from "htm/preact";
import { offsetPage, usePages } from "../../pages.ts";
import { addressOf } from "../../router.ts";

const COLUMNS: readonly Column<Secret>[] = [
  {
    title: "Of",
    width: "minmax(10rem, 2fr)",
    cell: ({ id, name }) => {
      const screen = screenOf(id);
      return screen === null
        ? onOneLine(name)
        : html`<a href=${addressOf(screen)}>${onOneLine(name)}</a>`;
    },
  },
  { title: "Kind", width: "8rem", cell: ({ type }) => type.replaceAll("_", " ") },
  {
    title: "State",
    width: "7rem",
    wideOnly: true,
    cell: ({ status }) => status !== null && html`<${Badge} state=${status} />`,
  },
  {
    title: "Holds",
    width: "minmax(8rem, 2fr)",
    wideOnly: true,
    cell: ({ holds }) =>
      holds.map((one) => html`<span class="label">${onOneLine(one)}</span>${" "}`),
  },
  {
    title: "Age",
    width: "7rem",
    cell: ({ age_days: days }) => `${days} ${days === 1 ? "day" : "days"}`,
  },
  {
    title: "Last use",
    width: "8rem",
    cell: ({ last_used_at }) => html`<${Time} at=${last_used_at} />`,
  },
];

/** All secrets that Relay holds for the organization, never their values. */
export function Secrets() {
  const list = usePages(
    async (from, signal) => {
      const { secrets, pagination } = await call("secrets.list", {
        query: { limit: 100, offset: Number(from ?? 0) },
        signal,
      });
      return offsetPage(secrets, pagination);
    },
    [],
    { types: ["api_key", "webhook", "ingest_token", "integration"], everyMs: 5_000 },
  );
  return html`
    <h2>Secrets that Relay holds</h2>
    <${Table}
      label="Secrets" list=${list} columns=${COLUMNS} keyOf=${({ type, id }: Secret) =>
        `${type} ${id}`}
      empty=${html`<${Empty} title="Relay holds no secrets of your organization" />`}
    />
  `;
}
