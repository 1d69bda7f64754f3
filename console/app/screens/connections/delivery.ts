import { call, type DeliveryDetail } from "../../api.ts";
import { Badge } from "../../components/badge.ts";
import { ChangeError, ConfirmButton, useChange } from "../../components/form.ts";
import { Failure, Loading } from "../../components/states.ts";
import { ExactTime, now, TimeLeft } from "../../components/time.ts";
import { VisibleText } from "../../components/visible_text.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { useRepeat } from "../../repeat.ts";
import { addressOf } from "../../router.ts";
import type { ScreenProps } from "../../screen.ts";
import { may } from "../../session.ts";
import { Body } from "./webhook/body.ts";
import { answerWords, isDue, MISSED_MS } from "./webhook/delivery_words.ts";

/** One delivery: what was sent, what was answered, and each attempt. */
export default function Delivery({ id, delivery: deliveryId }: ScreenProps) {
  const params = { id: id!, del_id: deliveryId! };
  const { data, error, again } = useData(
    (signal) => call("webhooks.delivery", { params, signal }),
    [id, deliveryId],
    { types: ["webhook"], id: id! },
  );
  const change = useChange();
  useRepeat(data !== null && isDue(data, now.value), MISSED_MS, again);
  if (data === null) {
    return error === null
      ? html`<${Loading} />`
      : html`<${Failure} error=${error} again=${again} />`;
  }
  const resend = async () => {
    await call("webhooks.resend", { params, body: {} });
    again();
  };
  const isUnderWay = isDue(data, 0);
  return html`
    <p>
      <a href=${addressOf("/webhooks")}>Webhooks</a> /${" "}
      <a href=${addressOf(`/webhooks/${id}`)}>this webhook</a>
    </p>
    <div class="title">
      <h1>${data.event_type}</h1>
      <${Badge} state=${data.held ? "held" : data.status} />
      ${data.test && html`<span class="label">test</span>`}
    </div>
    ${error !== null && html`<${Failure} error=${error} again=${again} />`}
    <div class="cards">
      <section class="card" aria-label="Delivery">
        <h2>Delivery</h2>
        <${Facts} delivery=${data} />
        ${may("system:write") && !isUnderWay && html`
          <${ConfirmButton} label="Send it again" change=${change} action=${resend}
            question="Your receiver gets the request once more under the same id, with all attempts ahead." />
        `}
        <${ChangeError} change=${change} />
      </section>
      <${Attempts} delivery=${data} />
    </div>
    <div class="cards two">
      <${Request} request=${data.request} />
      <section class="card" aria-label="Response">
        <h2>Response</h2>
        <p>${data.attempt === 0 ? "Nothing was sent yet." : answerWords(data)}</p>
        ${data.http_status !== null && html`<${Body} label="Body" text=${data.response_body} />`}
        ${data.response_truncated && html`<p class="soft">Relay keeps the first 4 KiB.</p>`}
      </section>
    </div>
  `;
}

function Facts({ delivery }: { readonly delivery: DeliveryDetail }) {
  const { id, event_id, created_at, next_attempt_at, held, final } = delivery;
  return html`
    <dl class="facts">
      <dt>Id</dt>
      <dd class="mono">${id}</dd>
      <dt>Event</dt>
      <dd class="mono">${event_id}</dd>
      <dt>Created</dt>
      <dd>
        <${ExactTime} at=${created_at} />
      </dd>
      <dt>Next attempt</dt>
      <dd>${next_attempt_at !== null
        ? html`in <${TimeLeft} until=${next_attempt_at} />`
        : held
        ? "when the webhook is enabled"
        : final
        ? "none: it failed for good"
        : "none"}</dd>
    </dl>
  `;
}

function Attempts({ delivery: { attempts, attempt } }: { readonly delivery: DeliveryDetail }) {
  return html`
    <section class="card" aria-label="Attempts">
      <h2>Attempts</h2>
      ${attempt === 0 && html`<p>There was none yet.</p>`}
      <ol class="rows">
        ${[...attempts].reverse().map((one) =>
          html`
            <li key=${one.number}>
              <p>
                Attempt ${one.number}: ${answerWords(one)}
                <span class="soft"> <${ExactTime} at=${one
                  .started_at} />${one.response_time_ms !== null &&
                  `, took ${Math.round(one.response_time_ms)} ms${phasesOf(one)}`}</span>
              </p>
              <${Badge} state=${one.status} />
            </li>
          `
        )}
      </ol>
    </section>
  `;
}

type Attempt = DeliveryDetail["attempts"][number];

/** The phases of an attempt, as in " (resolve 2, connect 5, first byte 30)". */
function phasesOf({ timing_ms }: Attempt): string {
  if (timing_ms === null) return "";
  const phases = Object.entries(timing_ms).filter(([, ms]) => ms !== null);
  const words = phases.map(([phase, ms]) => `${PHASES[phase as keyof typeof PHASES]} ${ms}`);
  return words.length === 0 ? "" : ` (${words.join(", ")})`;
}

const PHASES = { resolve: "resolve", connect: "connect", tls: "TLS", first_byte: "first byte" };

function Request({ request }: { readonly request: DeliveryDetail["request"] }) {
  return html`
    <section class="card" aria-label="Request">
      <h2>Request</h2>
      ${request === null
        ? html`<p class="soft">You need the right to read the event to see what was sent.</p>`
        : html`
          <p class="mono">POST <${VisibleText} text=${request.url} /></p>
          ${request.headers !== null && html`
            <h3>Headers</h3>
            <dl class="facts mono">
              ${Object.entries(request.headers).map(([name, value]) =>
                html`
                  <dt>${name}</dt>
                  <dd>
                    <${VisibleText} text=${value} />
                  </dd>
                `
              )}
            </dl>
            <p class="soft">
              Made from the webhook as it is now: a secret, URL or header that changed since then
              shows its new value.
            </p>
          `}
          <${Body} label="Body" text=${request.body} />
        `}
    </section>
  `;
}
