import { html } from "htm/preact";
import { may } from "../../session.ts";
import { MyNotifications } from "./my_notifications.ts";
import { MyClients, MySessions } from "./my_sessions.ts";
import { OrganizationSettings } from "./organization_settings.ts";
import { Password } from "./password.ts";
import { Profile } from "./profile.ts";
import { SecondFactorCard } from "./second_factor.ts";
import { Secrets } from "./secrets.ts";
import { TelegramLinks } from "./telegram_links.ts";

/** The viewer's own settings, and those of the organization. */
export default function Settings() {
  return html`
    <div class="title">
      <h1>Settings</h1>
    </div>
    <div class="cards two">
      <${Profile} />
      <${Password} />
      <${SecondFactorCard} />
      <${MySessions} />
      <${MyClients} />
      <${MyNotifications} />
      ${may("approvals:write") && html`<${TelegramLinks} />`}
      ${may("system:write") && html`<${OrganizationSettings} />`}
    </div>
    ${may("secrets:read") && html`<${Secrets} />`}
  `;
}
