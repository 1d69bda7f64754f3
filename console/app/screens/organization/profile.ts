import { type AccountSettings, call } from "../../api.ts";
import { useDraft } from "../../components/draft.ts";
import { ChangeError, useChange } from "../../components/form.ts";
import { SelectField } from "../../components/inputs.ts";
import { Failure, Loading } from "../../components/states.ts";
import { useData } from "../../data.ts";
import { onOneLine } from "../../components/visible_text.ts";
import { html } from "htm/preact";
import { me } from "../../session.ts";

/** Who the viewer is, and how messages are written for them. */
export function Profile() {
  const { data, error, again } = useData((signal) => call("account.settings", { signal }), []);
  const { user, organization, scopes } = me.value!;
  return html`
    <section class="card" aria-label="You">
      <h2>You</h2>
      <dl class="facts">
        <dt>E-mail</dt><dd>${user.email}</dd>
        <dt>Organization</dt><dd>${onOneLine(organization.name)}</dd>
        <dt>Roles</dt>
        <dd>${user.roles.map((role) => html`<span class="label">${role}</span>${" "}`)}</dd>
        <dt>Rights</dt>
        <dd>${scopes.map((scope) => html`<span class="label">${scope}</span>${" "}`)}</dd>
      </dl>
      ${error !== null && html`<${Failure} error=${error} again=${again} />`}
      ${data === null && error === null && html`<${Loading} />`}
      ${data !== null && html`<${Form} settings=${data} onSaved=${again} />`}
    </section>
  `;
}

const ZONES: readonly string[] = ["UTC", ...Intl.supportedValuesOf("timeZone")];
const LANGUAGES = ["en", "de", "fr", "es", "it", "nl", "pl", "pt", "ja", "zh"];
const languageNames = new Intl.DisplayNames("en", { type: "language" });

/** A list that holds the present value too. */
const withValue = (list: readonly string[], value: string): readonly string[] =>
  list.includes(value) ? list : [value, ...list];

function Form({ settings, onSaved }: {
  readonly settings: AccountSettings;
  readonly onSaved: () => void;
}) {
  const change = useChange();
  const language = useDraft(settings.language);
  const timezone = useDraft(settings.timezone);
  const submit = (event: Event) => {
    event.preventDefault();
    change.run(async () => {
      await call("account.update_settings", {
        body: {
          ...language.isChanged && { language: language.value },
          ...timezone.isChanged && { timezone: timezone.value },
        },
      });
      language.saved();
      timezone.saved();
      onSaved();
    });
  };
  return html`
    <form onSubmit=${submit}>
      <div class="pair">
        <${SelectField} label="Language" value=${language.value} onChange=${language.set}
          options=${withValue(LANGUAGES, settings.language).map((
            tag,
          ) => [tag, languageNames.of(tag) ?? tag])} />
        <${SelectField} label="Time zone" value=${timezone.value} onChange=${timezone.set}
          options=${withValue(ZONES, settings.timezone)} />
      </div>
      <p
        class="soft">Messages that Relay sends to you follow these; the console shows the times of this browser's zone.</p>
      <${ChangeError} change=${change} />
      <p><button type="submit" disabled=${change.isBusy ||
        !language.isChanged && !timezone.isChanged}>Save</button></p>
    </form>
  `;
}
