import { call, type Role, type Scope, type User } from "../../api.ts";
import { Badge } from "../../components/badge.ts";
import { Empty, Failure } from "../../components/states.ts";
import { type Column, Table } from "../../components/table.ts";
import { Time } from "../../components/time.ts";
import { onOneLine } from "../../components/visible_text.ts";
import { type Data, useData } from "../../data.ts";
import { html } from "htm/preact";
import { offsetPage, usePages } from "../../pages.ts";
import { addressOf, placeWith, query, setQuery } from "../../router.ts";
import { may, me } from "../../session.ts";
import { useScopes } from "../../components/scopes.ts";
import { Invitations } from "./invitations.ts";
import { InvitationCreate } from "./invitation_create.ts";
import { Person } from "./person.ts";
import { Roles } from "./roles.ts";

const COLUMNS: readonly Column<User>[] = [
  {
    title: "E-mail",
    width: "minmax(12rem, 2fr)",
    cell: ({ id, email }) =>
      html`
        <a href=${addressOf(placeWith({ person: id }))}>${onOneLine(email)}</a>
        ${id === me.value!.user.id && html`<span class="label">you</span>`}
      `,
  },
  {
    title: "State",
    width: "7rem",
    cell: ({ active }) => html`<${Badge} state=${active ? "active" : "deactivated"} />`,
  },
  {
    title: "Roles",
    width: "minmax(8rem, 2fr)",
    cell: ({ roles }) => roles.map((role) => html`<span class="label">${role}</span>${" "}`),
  },
  {
    title: "Second factor",
    width: "8rem",
    wideOnly: true,
    cell: ({ second_factor }) =>
      second_factor === null
        ? ""
        : html`<span class=${second_factor ? "good" : "warn"}>${
          second_factor ? "yes" : "no"
        }</span>`,
  },
  {
    title: "Signed in",
    width: "8rem",
    wideOnly: true,
    cell: ({ signed_in_at }) => signed_in_at !== null && html`<${Time} at=${signed_in_at} />`,
  },
  { title: "Joined", width: "8rem", cell: ({ created_at }) => html`<${Time} at=${created_at} />` },
];

/** Who belongs to the organization, what each may do and why, who is invited, and the roles. */
export default function People() {
  const list = usePages(
    async (from, signal) => {
      const { users, pagination } = await call("users.list", {
        query: { limit: 100, offset: Number(from ?? 0) },
        signal,
      });
      return offsetPage(users, pagination);
    },
    [],
    { types: ["user", "role"] },
  );
  const roles = useData(
    async (signal) => (await call("roles.list", { query: { limit: 200 }, signal })).roles,
    [],
    { types: ["role"] },
  );
  const scopes = useScopes();
  const all = scopes.data?.map(({ name }) => name) ?? null;
  const { person, invite } = query.value;
  const mayChange = may("system:write");
  return html`
    <div class="title">
      <h1>People and roles</h1>
      ${mayChange && invite === undefined && html`
        <button type="button" class="primary" onClick=${() => setQuery({ invite: "1" })}>
          Invite a person
        </button>
      `}
    </div>
    ${scopes.error !== null && html`<${Failure} error=${scopes.error} again=${scopes.again} />`}
    ${mayChange && invite !== undefined && roles.data !== null && all !== null &&
      html`<${InvitationCreate} roles=${roles.data} all=${all} />`}
    ${person !== undefined &&
      html`<${Person} key=${person} id=${person} roles=${roles.data} scopes=${scopes.data} />`}
    <${Table}
      label="People" list=${list} columns=${COLUMNS} keyOf=${({ id }: User) => id}
      opens=${({ id }: User) => placeWith({ person: id })}
      empty=${html`<${Empty} title="Nobody" />`}
    />
    <h2>Invitations</h2>
    <${Invitations} />
    <${RoleList} roles=${roles} all=${all} />
  `;
}

function RoleList({ roles, all }: {
  readonly roles: Data<readonly Role[]>;
  readonly all: readonly Scope[] | null;
}) {
  if (roles.error !== null) return html`<${Failure} error=${roles.error} again=${roles.again} />`;
  return roles.data !== null && all !== null &&
    html`<${Roles} roles=${roles.data} all=${all} onChanged=${roles.again} />`;
}
