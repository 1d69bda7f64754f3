import { useState } from "preact/hooks";
import { call, type Permission, type Role } from "../../api.ts";
import { ChangeError, ConfirmButton, useChange } from "../../components/form.ts";
import { CheckGroups, TextField } from "../../components/inputs.ts";
import { scopeGroups } from "../../components/scopes.ts";
import { html } from "htm/preact";
import { query, setQuery } from "../../router.ts";
import { may } from "../../session.ts";
import { rightsOf } from "./permissions.ts";

/** The roles, each with its rights. */
export function Roles({ roles, onChanged }: {
  readonly roles: readonly Role[];
  readonly onChanged: () => void;
}) {
  const edited = query.value.role;
  const mayChange = may("system:write");
  const role = roles.find(({ name, built_in }) => name === edited && !built_in);
  return html`
    <div class="title">
      <h2>Roles</h2>
      ${mayChange && edited === undefined && html`
        <button type="button" onClick=${() => setQuery({ role: "+" })}>Create a role</button>
      `}
    </div>
    ${mayChange && edited !== undefined &&
      html`<${RoleForm} key=${role?.name ?? ""} role=${role ?? null} onChanged=${onChanged} />`}
    <ul class="rows">
      ${roles.map((one) => html`<${Row} key=${one.name} role=${one} onChanged=${onChanged} />`)}
    </ul>
  `;
}

function Row({ role, onChanged }: { readonly role: Role; readonly onChanged: () => void }) {
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
      ${!built_in && may("system:write") && html`
        <button type="button" aria-label=${`Change the role ${name}`}
          onClick=${() => setQuery({ role: name })}>Change</button>
        <${ConfirmButton} label=${`Delete ${name}`} change=${change} action=${remove}
          question="A role that somebody has, or is invited with, cannot be deleted: take it away first." />
      `}
    </li>
  `;
}

function RoleForm({ role, onChanged }: {
  readonly role: Role | null;
  readonly onChanged: () => void;
}) {
  const change = useChange();
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<readonly string[]>(role === null ? [] : rightsOf(role));
  const close = () => setQuery({ role: "" });
  const submit = (event: Event) => {
    event.preventDefault();
    change.run(async () => {
      const permissions = scopes as readonly Permission[];
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
      <${CheckGroups} legend="Rights" chosen=${scopes} onChange=${setScopes}
        groups=${scopeGroups((scope) => may(scope) || scopes.includes(scope))} />
      ${role !== null &&
        html`<p class="soft">Everybody who has the role gets or loses these rights with their next request.</p>`}
      <${ChangeError} change=${change} />
      <div class="actions">
        <button type="submit" class="primary" disabled=${change.isBusy || scopes.length === 0}>
          ${role === null ? "Create the role" : "Save the rights"}
        </button>
        <button type="button" onClick=${close}>Cancel</button>
      </div>
    </form>
  `;
}
