import { html } from "htm/preact";
import { Accounts } from "./host/accounts.ts";
import { Configuration } from "./host/configuration.ts";
import { Figures } from "./host/figures.ts";
import { HealthCard } from "./host/health.ts";
import { Orders } from "./host/orders.ts";
import { Plans } from "./host/plans.ts";

/** The installation: its health, figures, accounts, plans and configuration. Only the host sees it. */
export default function Host() {
  return html`
    <div class="title">
      <h1>Host</h1>
    </div>
    <${HealthCard} />
    <${Figures} />
    <${Accounts} />
    <${Plans} />
    <${Orders} />
    <${Configuration} />
  `;
}
