import { call, type Delivery, type Webhook } from "../../../api.ts";
import { onOneLine } from "../../../components/visible_text.ts";
import { useData } from "../../../data.ts";
import { html } from "htm/preact";
import { addressOf } from "../../../router.ts";
import { answerWords } from "../../connections/webhook/delivery_words.ts";
import { Card } from "./card.ts";

/** Webhooks whose newest delivery is looked at. */
const EXAMINED = 20;

interface Trouble {
  readonly webhook: Webhook;
  readonly why: string;
}

interface Health {
  readonly total: number;
  readonly troubles: readonly Trouble[];
}

/** What is wrong with a webhook: it is off, or its newest delivery has not arrived. */
function whyOf({ active, suspended }: Webhook, newest: Delivery | undefined): string | null {
  if (!active) return "disabled";
  if (suspended !== null) return "suspended";
  if (newest === undefined || newest.status === "succeeded") return null;
  const { attempt, error, http_status } = newest;
  if (newest.status === "pending" || newest.status === "sending") {
    return attempt > 1 ? `attempt ${attempt} is under way` : null;
  }
  return answerWords({ http_status, error });
}

async function readHealth(signal: AbortSignal): Promise<Health> {
  const { webhooks, pagination } = await call("webhooks.list", {
    query: { limit: EXAMINED },
    signal,
  });
  const troubles = await Promise.all(webhooks.map(async (webhook) => {
    const { deliveries } = await call("webhooks.deliveries", {
      params: { id: webhook.id },
      query: { limit: 1 },
      signal,
    });
    return { webhook, why: whyOf(webhook, deliveries[0]) };
  }));
  return {
    total: pagination.total,
    troubles: troubles.filter((one): one is Trouble => one.why !== null),
  };
}

const wordsOf = (total: number): string =>
  total === 1 ? "The webhook delivers" : `All ${total} webhooks deliver`;

/** Webhooks that do not deliver. */
export function WebhooksCard() {
  const health = useData(readHealth, [], { types: ["webhook"], everyMs: 5_000 });
  return html`
    <${Card} title="Webhooks" to="/webhooks" data=${health}>${({ total, troubles }: Health) => {
      if (total === 0) return html`<p class="soft">No webhook is registered.</p>`;
      if (troubles.length === 0) {
        return html`<p>${
          total > EXAMINED ? `The first ${EXAMINED} of ${total} deliver` : wordsOf(total)
        }.</p>`;
      }
      return html`
        <ul class="lines wrapped">
          ${troubles.map(({ webhook, why }) =>
            html`
              <li key=${webhook.id}>
                <a href=${addressOf(`/webhooks/${webhook.id}`)}>${onOneLine(webhook.name)}</a>
                <span class="bad">${onOneLine(why)}</span>
              </li>
            `
          )}
        </ul>
      `;
    }}<//>
  `;
}
