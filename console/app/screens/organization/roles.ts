import { useState } from "preact/hooks";
import { call, type Permission, type Role, type Scope } from "../../api.ts";
import { ChangeError, ConfirmButton, useChange } from "../../components/form.ts";
import { Overtaken, useDraft } from "../../components/draft.ts";
import { TextField } from "../../components/inputs.ts";
import { RightsChoice } from "../../components/rights_choice.ts";
import { html } from "htm/preact";
import { query, setQuery } from "../../router.ts";
import { may, me } from "../../session.ts";
import { mayGive, rightsOf } from "./permissions.ts";

/** In the address, for a role that is not made yet. No role has this name. */
const NEW = "+";

/** The roles, each with its rights. */
export function Roles({ roles, all, onChanged }: {
  readonly roles: readonly Role[];
  readonly all: readonly Scope[];
  readonly onChanged: () => void;
}) {
  const edited = query.value.role;
  const mayCreate = may("system:write");
  const mayChange = (role: Role) => mayCreate && !role.built_in && mayGive(me.value!, role, all);
  const role = roles.find((one) => one.name === edited && mayChange(one));
  const creates = mayCreate && edited === NEW;
  return html`
    <div class="title">
      <h2>Roles</h2>
      ${mayCreate && !creates && role === undefined && html`
        <button type="button" onClick=${() => setQuery({ role: NEW })}>Create a role</button>
      `}
    </div>
    ${(creates || role !== undefined) &&
      html`<${RoleForm} key=${edited} role=${role ?? null} all=${all} onChanged=${onChanged} />`}
    <ul class="rows">
      ${roles.map((one) =>
        html`
          <${Row} key=${one.name} role=${one} mayChange=${mayChange(one)} onChanged=${onChanged} />
        `
      )}
    </ul>
  `;
}

function Row({ role, mayChange, onChanged }: {
  readonly role: Role;
  readonly mayChange: boolean;
  readonly onChanged: () => void;
}) {
  const { name, built_in, permissions } = role;
  const change = useChange();
  const remove = async () => {
    await call("roles.delete", { params: { name } });
    onChanged();
  };
  return html`
    <li>
      <p>
        <strong>${name}</strong> ${built_in && html`<span class="soft">built in</span>`}<br />
        ${permissions.map((one) => html`<span class="label">${one}</span>${" "}`)}
      </p>
      ${mayChange && html`
        <button type="button" aria-label=${`Change the role ${name}`}
          onClick=${() => setQuery({ role: name })}>Change</button>
        <${ConfirmButton} label=${`Delete ${name}`} change=${change} action=${remove}
          question="A role that somebody has, or is invited with, cannot be deleted: take it away first." />
      `}
    </li>
  `;
}

function RoleForm({ role, all, onChanged }: {
  readonly role: Role | null;
  readonly all: readonly Scope[];
  readonly onChanged: () => void;
}) {
  const change = useChange();
  const [name, setName] = useState("");
  const present = role === null ? [] : [...rightsOf(role, all)].sort();
  const scopes = useDraft<readonly string[]>(present);
  // On the host only owners change the installation.
  const ownersOnly = me.value!.organization.host ? "system:write" : undefined;
  const close = () => setQuery({ role: "" });
  const submit = (event: Event) => {
    event.preventDefault();
    change.run(async () => {
      const permissions = scopes.value as readonly Permission[];
      if (role === null) await call("roles.create", { body: { name, permissions } });
      else await call("roles.update", { params: { name: role.name }, body: { permissions } });
      close();
      onChanged();
    });
  };
  return html`
    <form class="card" onSubmit=${submit} aria-label=${role === null
      ? "New role"
      : `Role ${role.name}`}>
      <h3>${role === null ? "New role" : `Change the role ${role.name}`}</h3>
      ${role === null && html`
        <${TextField} label="Name" value=${name} onInput=${setName} required maxlength=${64}
          placeholder="deployer" hint="Up to 64 letters, digits, spaces and ._-" />
      `}
      <${RightsChoice} chosen=${scopes.value} without=${ownersOnly}
        onChange=${(chosen: readonly string[]) => scopes.set([...chosen].sort())} />
      ${role !== null &&
        html`<p class="soft">Everybody who has the role gets or loses these rights with their next request.</p>`}
      <${Overtaken} drafts=${[scopes]} />
      <${ChangeError} change=${change} />
      <div class="actions">
        <button type="submit" class="primary" disabled=${change.isBusy ||
          !scopes.isChanged || scopes.value.length === 0}>
          ${role === null ? "Create the role" : "Save the rights"}
        </button>
        <button type="button" onClick=${close}>Cancel</button>
      </div>
    </form>
  `;
}
