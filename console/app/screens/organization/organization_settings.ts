import { call } from "../../api.ts";
import { useDraft } from "../../components/draft.ts";
import { ChangeError, ConfirmButton, useChange } from "../../components/form.ts";
import { TextField } from "../../components/inputs.ts";
import { Failure } from "../../components/states.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { me, readSession } from "../../session.ts";

/** The organization's name, and whether its people need a second factor. */
export function OrganizationSettings() {
  const change = useChange();
  const { name: present, plan } = me.value!.organization;
  const name = useDraft(present);
  const submit = (event: Event) => {
    event.preventDefault();
    change.run(async () => {
      await call("account.rename_organization", { body: { name: name.value } });
      name.saved();
      await readSession();
    });
  };
  return html`
    <section class="card" aria-label="Organization">
      <h2>Organization</h2>
      <dl class="facts">
        <dt>Plan</dt>
        <dd>${plan}</dd>
      </dl>
      <form onSubmit=${submit}>
        <${TextField} label="Name of the organization" value=${name.value} onInput=${name
          .set} required
          maxlength=${100} />
        <${ChangeError} change=${change} />
        <p><button type="submit" disabled=${change.isBusy || !name.isChanged}>Rename it</button></p>
      </form>
      <${RequiredFactor} />
    </section>
  `;
}

function RequiredFactor() {
  const change = useChange();
  const { data, error, again } = useData(
    (signal) => call("second_factor.read", { signal }),
    [],
    { types: ["organization"] },
  );
  if (data === null) {
    return error === null ? null : html`<${Failure} error=${error} again=${again} />`;
  }
  const set = (required: boolean) => async () => {
    await call("second_factor.require", { body: { required } });
    again();
  };
  return data.required
    ? html`
      <p>Everybody needs a second factor.</p>
      <${ConfirmButton} label="Require it no longer" change=${change} action=${set(false)}
        question="Passwords alone sign people in then." />
    `
    : html`
      <${ConfirmButton} label="Require a second factor of everybody" change=${change}
        action=${set(true)}
        question="People without one can only set one up then: everything else, and their API keys, is closed to them." />
    `;
}
