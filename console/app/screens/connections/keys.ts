import { type ApiKey, call } from "../../api.ts";
import { type Space, space } from "../../space.ts";
import { Badge } from "../../components/badge.ts";
import { ChoiceFilter } from "../../components/filters.ts";
import { Empty } from "../../components/states.ts";
import { type Column, Table } from "../../components/table.ts";
import { Time } from "../../components/time.ts";
import { onOneLine } from "../../components/visible_text.ts";
import { html } from "htm/preact";
import { offsetPage, usePages } from "../../pages.ts";
import { addressOf, query, setQuery } from "../../router.ts";
import { may } from "../../session.ts";
import { KeyCreate } from "./key/create.ts";

const COLUMNS: readonly Column<ApiKey>[] = [
  {
    title: "Name",
    width: "minmax(10rem, 2fr)",
    cell: ({ id, name, type }) =>
      html`
        <a href=${addressOf(`/keys/${id}`)}>${onOneLine(name)}</a>
        ${type === "test" && html`<span class="label">test</span>`}
      `,
  },
  { title: "State", width: "7rem", cell: ({ status }) => html`<${Badge} state=${status} />` },
  {
    title: "Rights",
    width: "minmax(10rem, 3fr)",
    wideOnly: true,
    cell: ({ scopes }) =>
      html`<span title=${scopes.join(", ")}>${
        scopes.map((scope) => html`<span class="label">${scope}</span>${" "}`)
      }</span>`,
  },
  {
    title: "Last use",
    width: "9rem",
    cell: ({ last_used }) =>
      last_used === null
        ? html`<span class="soft">never used</span>`
        : html`<${Time} at=${last_used} />`,
  },
  {
    title: "Expires",
    width: "8rem",
    wideOnly: true,
    cell: ({ expires_at }) => html`<${Time} at=${expires_at} />`,
  },
];

/** The API keys that the viewer may see, and a form for a new one. */
export default function Keys() {
  // The test space has test keys only.
  const type = space.value === "live" ? query.value.type ?? "" : "";
  const list = usePages(
    async (from, signal) => {
      const { api_keys, pagination } = await call("api_keys.list", {
        query: { limit: 100, offset: Number(from ?? 0), ...type !== "" && { type: type as Space } },
        signal,
      });
      return offsetPage(api_keys, pagination);
    },
    [type],
    { types: ["api_key"] },
  );
  const mayCreate = may("system:write");
  const creates = query.value.create !== undefined && mayCreate;
  return html`
    <div class="title">
      <h1>API keys</h1>
      ${mayCreate && !creates && html`
        <button type="button" class="primary" onClick=${() => setQuery({ create: "1" })}>
          Create a key
        </button>
      `}
    </div>
    ${creates && html`<${KeyCreate} />`}
    ${space.value === "live" && html`
      <div class="filters">
        <${ChoiceFilter} name="type" label="Data" choices=${["live", "test"]} />
      </div>
    `}
    <${Table}
      label="API keys" list=${list} columns=${COLUMNS} keyOf=${({ id }: ApiKey) => id}
      opens=${({ id }: ApiKey) => `/keys/${id}`}
      empty=${html`
        <${Empty} title=${type === "" ? "No API keys" : `No keys for ${type} data`}>
          <p>${mayCreate
            ? "A key lets a program call the API with rights that you choose. Create one above."
            : "A key lets a program call the API. An administrator of your organization can make one."}</p>
          <//>
      `}
    />
  `;
}
