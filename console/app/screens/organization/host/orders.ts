import { call } from "../../../api.ts";
import { Badge } from "../../../components/badge.ts";
import { Failure } from "../../../components/states.ts";
import { ExactTime } from "../../../components/time.ts";
import { VisibleText } from "../../../components/visible_text.ts";
import { useData } from "../../../data.ts";
import { html } from "htm/preact";

const SHOWN = 20;

/** The newest orders and subscriptions. */
export function Orders() {
  const { data, error, again } = useData(
    async (signal) => {
      const query = { limit: SHOWN };
      const [{ orders }, { subscriptions }] = await Promise.all([
        call("orders.list", { query, signal }),
        call("subscriptions.list", { query, signal }),
      ]);
      return { orders, subscriptions };
    },
    [],
    { types: ["account", "organization"] },
  );
  if (error !== null) return html`<${Failure} error=${error} again=${again} />`;
  if (data === null) return null;
  return html`
    <details class="card">
      <summary>Orders and subscriptions</summary>
      <h3>Newest orders</h3>
      ${data.orders.length === 0 && html`<p class="soft">There are none.</p>`}
      <ul class="rows">
        ${data.orders.map((order) =>
          html`
            <li key=${order.id}>
              <p>
                <${VisibleText} text=${order.plan_name} /> for <code>${order.account_id}</code>:
                ${order.amount} ${order.currency}
                <span class="soft"> <${ExactTime} at=${order.created_at} /></span>
              </p>
              <${Badge} state=${order.status} tone="good" />
            </li>
          `
        )}
      </ul>
      <h3>Newest subscriptions</h3>
      <ul class="rows">
        ${data.subscriptions.map((one) =>
          html`
            <li key=${one.id}>
              <p>
                <${VisibleText} text=${one.plan_name} /> for <code>${one.account_id}</code>:
                ${one.price} ${one.currency} a month
                <span class="soft"> from <${ExactTime} at=${one
                  .started_at} />${one.ended_at !== null && html`
                  until <${ExactTime} at=${one.ended_at} />
                `}</span>
              </p>
              <${Badge} state=${one.status} />
            </li>
          `
        )}
      </ul>
    </details>
  `;
}
