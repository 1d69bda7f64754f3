import { useState } from "preact/hooks";
import { call } from "../../../api.ts";
import { Badge } from "../../../components/badge.ts";
import { ChangeError, ConfirmButton, useChange } from "../../../components/form.ts";
import { Check, TextField } from "../../../components/inputs.ts";
import { instantOf } from "../../../components/instants.ts";
import { Failure } from "../../../components/states.ts";
import { Time } from "../../../components/time.ts";
import { useData } from "../../../data.ts";
import { html } from "htm/preact";
import { useRepeat } from "../../../repeat.ts";
import { query, setQuery } from "../../../router.ts";

type State = "failed" | "exhausted" | "held";
const STATES: readonly (readonly [State, string])[] = [
  ["failed", "failed, and awaiting their next attempt"],
  ["exhausted", "failed for good"],
  ["held", "held while the webhook was disabled"],
];

/** Sends the failed deliveries of a period again. */
export function WebhookRecover({ id, onChanged }: {
  readonly id: string;
  readonly onChanged: () => void;
}) {
  const change = useChange();
  const [since, setSince] = useState("");
  const [until, setUntil] = useState("");
  const [states, setStates] = useState<readonly State[]>(["failed", "exhausted", "held"]);
  const [matched, setMatched] = useState<number | null>(null);
  const recover = async (dry_run: boolean) => {
    const body = {
      since: instantOf(since),
      ...until !== "" && { until: instantOf(until) },
      status: states,
      dry_run,
    };
    const { matched, recovery } = await call("webhooks.recover", { params: { id }, body });
    // What is sent again now is not counted again by a second press.
    setMatched(dry_run ? matched : null);
    if (recovery !== null) setQuery({ recovery: recovery.id });
    if (!dry_run) onChanged();
  };
  const submit = (event: Event) => {
    event.preventDefault();
    change.run(() => recover(true));
  };
  const changed = <T>(set: (value: T) => void) => (value: T) => {
    set(value);
    setMatched(null);
  };
  const { recovery } = query.value;
  return html`
    <details class="card" open=${recovery !== undefined}>
      <summary>Recover a period</summary>
      <p>Sends the deliveries of a period again, under the same ids.</p>
      <form onSubmit=${submit}>
        <div class="pair">
          <${TextField} label="Created from" type="datetime-local" value=${since} required
            onInput=${changed(setSince)} />
          <${TextField} label="Until" type="datetime-local" value=${until}
            onInput=${changed(setUntil)} hint="Now, when it is empty." />
        </div>
        ${STATES.map(([state, words]) =>
          html`
            <${Check} checked=${states.includes(state)} onChange=${(isChosen: boolean) =>
              changed(setStates)(
                isChosen ? [...states, state] : states.filter((one) => one !== state),
              )}>${words}<//>
          `
        )}
        <${ChangeError} change=${change} />
        <p><button type="submit" disabled=${change.isBusy || states.length === 0}>
          Count the deliveries
        </button></p>
      </form>
      <div role="status">
        ${matched === 0 && html`<p>No deliveries match.</p>`}
        ${matched !== null && matched > 0 && html`
          <${ConfirmButton} label=${`Send ${matched} again`} change=${change}
            question=${`Your receiver gets ${matched} deliveries once more, with all attempts ahead.`}
            action=${() => recover(false)} />
        `}
      </div>
      ${recovery !== undefined &&
        html`<${Progress} key=${recovery} id=${id} recovery=${recovery} />`}
    </details>
  `;
}

/** How far a recovery is. */
export function Progress({ id, recovery }: { readonly id: string; readonly recovery: string }) {
  const change = useChange();
  const params = { id, recovery_id: recovery };
  const { data, error, again } = useData(
    (signal) => call("webhooks.recovery", { params, signal }),
    [],
  );
  useRepeat(data?.state === "running", 1_000, again);
  if (data === null) {
    return error === null ? null : html`<${Failure} error=${error} again=${again} />`;
  }
  const cancel = () =>
    change.run(async () => {
      await call("webhooks.cancel_recovery", { params, body: {} });
      again();
    });
  return html`
    <p role="status">
      <${Badge} state=${data.state} tone=${data.state === "completed" ? "good" : undefined} />${" "}
      ${data.kind === "release" ? "Releasing held deliveries" : "Recovery"}${" "}
      <${Time} at=${data.created_at} />: ${data.requeued} sent again${data.discarded > 0
        ? `, ${data.discarded} discarded`
        : ""}.
      ${data.state === "running" && html`
        <button type="button" disabled=${change
          .isBusy} onClick=${cancel}>Cancel the recovery</button>
      `}
    </p>
    <${ChangeError} change=${change} />
  `;
}
