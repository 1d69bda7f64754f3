import { call, type LimitState } from "../../../api.ts";
import { useDraft } from "../../../components/draft.ts";
import { ChangeError, useChange } from "../../../components/form.ts";
import { TextField } from "../../../components/inputs.ts";
import { Failure, Loading } from "../../../components/states.ts";
import { useData } from "../../../data.ts";
import { html } from "htm/preact";
import { may, me } from "../../../session.ts";
import { limitWords, overrideOf, overrideWords } from "../../../components/limit_words.ts";

/** The limits of an organization, where each comes from, and what is left. The host may override the first. */
export function Limits({ id }: { readonly id: string }) {
  const { data, error, again } = useData(
    (signal) => call("limits.get", { params: { id }, signal }),
    [id],
    { types: ["limits", "plan", "account", "configuration"] },
  );
  if (data === null) {
    return error === null
      ? html`<${Loading} />`
      : html`<${Failure} error=${error} again=${again} />`;
  }
  return html`
    <div>
      <h3>Limits</h3>
      ${error !== null && html`<${Failure} error=${error} again=${again} />`}
      <dl class="facts">
        ${data.limits.map(({ name, limit, source, remaining }) =>
          html`
            <dt>${name.replaceAll("_", " ")}</dt>
            <dd>${limitWords(limit)} <span class="soft">by the ${source}, ${limitWords(
              remaining,
            )} left</span></dd>
          `
        )}
      </dl>
      ${me.value!.organization.host && may("system:write") &&
        html`<${Override} state=${data} onChanged=${again} />`}
    </div>
  `;
}

function Override({ state: { id, overrides }, onChanged }: {
  readonly state: LimitState;
  readonly onChanged: () => void;
}) {
  const change = useChange();
  const draft = useDraft(overrideWords(overrides.requests_per_minute));
  const submit = (event: Event) => {
    event.preventDefault();
    change.run(async () => {
      const limit = overrideOf(draft.value);
      const body = limit === undefined ? {} : { requests_per_minute: limit };
      await call("limits.set", { params: { id }, body });
      draft.saved();
      onChanged();
    });
  };
  return html`
    <form onSubmit=${submit}>
      <${TextField} label="Requests a minute, instead of the plan's" value=${draft.value}
        onInput=${draft.set}
        placeholder="as the plan says" hint="A number, or “unlimited”. Empty follows the plan." />
      <${ChangeError} change=${change} />
      <p><button type="submit" disabled=${change.isBusy ||
        !draft.isChanged}>Save the limit</button></p>
    </form>
  `;
}
