import { useState } from "preact/hooks";
import { call, type Role, type ScopeInfo } from "../../api.ts";
import { Badge } from "../../components/badge.ts";
import { ChangeError, ConfirmButton, useChange } from "../../components/form.ts";
import { SelectField } from "../../components/inputs.ts";
import { Failure, Loading } from "../../components/states.ts";
import { VisibleText } from "../../components/visible_text.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { setQuery } from "../../router.ts";
import { may, me } from "../../session.ts";
import { PasswordLink } from "./password_link.ts";
import { mayGive, rightsByRole } from "./permissions.ts";

/** One person: their roles, what each role lets them do, and changes of these. */
export function Person({ id, roles, scopes }: {
  readonly id: string;
  readonly roles: readonly Role[] | null;
  readonly scopes: readonly ScopeInfo[] | null;
}) {
  const { data, error, again } = useData(
    (signal) => call("roles.of_user", { params: { user_id: id }, signal }),
    [id],
    { types: ["user", "role"] },
  );
  if (data === null || roles === null || scopes === null) {
    return error === null
      ? html`<${Loading} />`
      : html`<${Failure} error=${error} again=${again} />`;
  }
  const all = scopes.map(({ name }) => name);
  const givable = may("system:write")
    ? roles.filter((role) => mayGive(me.value!, role, all)).map(({ name }) => name)
    : [];
  const manages = may("system:write") && id !== me.value!.user.id &&
    data.roles.every((name) => givable.includes(name));
  const open = givable.filter((name) => !data.roles.includes(name));
  return html`
    <section class="card" aria-label=${data.email}>
      <div class="title">
        <h2>
          <${VisibleText} text=${data.email} />
        </h2>
        <${Badge} state=${data.active ? "active" : "deactivated"} />
        <button type="button" onClick=${() => setQuery({ person: "" })}>Close</button>
      </div>
      ${error !== null && html`<${Failure} error=${error} again=${again} />`}
      <div class="cards two">
        <div>
          <h3>Roles</h3>
          <ul class="rows">
            ${data.roles.map((name) =>
              html`
                <${HeldRole} key=${name} name=${name} id=${id} email=${data.email}
                  isGivable=${givable.includes(name)} onChanged=${again} />
              `
            )}
          </ul>
          <${Assign} id=${id} open=${open} onChanged=${again} />
          ${manages && data.active &&
            html`<${PasswordLink} id=${id} email=${data.email} />`}
          ${manages &&
            html`<${Activity} id=${id} email=${data.email} active=${data.active} onChanged=${again} />`}
        </div>
        <div>
          <h3>What they may do, and why</h3>
          <table>
            <thead>
              <tr>
                <th scope="col">Right</th>
                <th scope="col">Given by</th>
              </tr>
            </thead>
            <tbody>
              ${rightsByRole(data.roles, roles, all).map(({ right, from }) =>
                html`
                  <tr key=${right}>
                    <td><code>${right}</code> <span class="soft">${scopes.find(({ name }) =>
                      name === right
                    )?.description}</span></td>
                    <td>${data.permissions.includes(right)
                      ? from.map((name) => html`<span class="label">${name}</span>${" "}`)
                      : html`<span class="soft">not in force</span>`}</td>
                  </tr>
                `
              )}
            </tbody>
          </table>
        </div>
      </div>
    </section>
  `;
}

function HeldRole({ name, id, email, isGivable, onChanged }: {
  readonly name: string;
  readonly id: string;
  readonly email: string;
  readonly isGivable: boolean;
  readonly onChanged: () => void;
}) {
  const change = useChange();
  const revoke = async () => {
    await call("roles.revoke", { params: { name }, body: { user_id: id } });
    onChanged();
  };
  return html`
    <li>
      <span>${name}</span>
      ${isGivable && html`
        <${ConfirmButton} label=${`Take ${name} away`} change=${change} action=${revoke}
          question=${`${email} and their API keys lose what only ${name} gives, at once.`} />
      `}
    </li>
  `;
}

function Assign({ id, open, onChanged }: {
  readonly id: string;
  /** The roles that the viewer may give and the person does not have. */
  readonly open: readonly string[];
  readonly onChanged: () => void;
}) {
  const change = useChange();
  const [chosen, setChosen] = useState("");
  const name = open.includes(chosen) ? chosen : open[0];
  if (name === undefined) return null;
  const submit = (event: Event) => {
    event.preventDefault();
    change.run(async () => {
      await call("roles.assign", { params: { name }, body: { user_id: id } });
      onChanged();
    });
  };
  return html`
    <form onSubmit=${submit}>
      <${SelectField} label="Another role" value=${name} options=${open} onChange=${setChosen} />
      <${ChangeError} change=${change} />
      <p><button type="submit" disabled=${change.isBusy}>Give the role</button></p>
    </form>
  `;
}

function Activity({ id, email, active, onChanged }: {
  readonly id: string;
  readonly email: string;
  readonly active: boolean;
  readonly onChanged: () => void;
}) {
  const change = useChange();
  const set = async () => {
    await call(active ? "users.deactivate" : "users.activate", { params: { id }, body: {} });
    onChanged();
  };
  return active
    ? html`
      <${ConfirmButton} label="Deactivate the person" change=${change} action=${set}
        question=${`The sessions of ${email} end, and their API keys stop working, until you activate them again.`} />
    `
    : html`
      <${ConfirmButton} label="Activate the person" change=${change} action=${set}
        question=${`${email} may sign in again, and their API keys work again.`} />
    `;
}
