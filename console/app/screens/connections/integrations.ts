import { call, type CatalogEntry } from "../../api.ts";
import { Empty, Failure, Loading } from "../../components/states.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { query, setQuery } from "../../router.ts";
import { may } from "../../session.ts";
import { VisibleText } from "../../components/visible_text.ts";
import { Integration } from "./integration/card.ts";
import { IntegrationInstall } from "./integration/install.ts";

/** Installed integrations, and the services that can be installed. */
export default function Integrations() {
  const { data, error, again } = useData(
    async (signal) => {
      const [{ integrations }, { catalog }] = await Promise.all([
        call("integrations.list", { query: { limit: 200 }, signal }),
        call("integrations.catalog", { query: { limit: 200 }, signal }),
      ]);
      return { integrations, catalog };
    },
    [],
    { types: ["integration", "user", "role"] },
  );
  if (data === null) {
    return html`
      <h1>Integrations</h1>
      ${error === null ? html`<${Loading} />` : html`<${Failure} error=${error} again=${again} />`}
    `;
  }
  const { install, connected, connect_failed: failed } = query.value;
  const chosen = may("system:write")
    ? data.catalog.find(({ type }) => type === install)
    : undefined;
  return html`
    <div class="title">
      <h1>Integrations</h1>
    </div>
    ${error !== null && html`<${Failure} error=${error} again=${again} />`}
    ${connected !== undefined && html`
      <p class="good" role="status">
        <${VisibleText} text=${data.integrations.find(({ id }) => id === connected)?.name ??
          "The integration"} /> is connected.
      </p>
    `}
    ${failed !== undefined && html`<p class="bad" role="alert">${FAILED[failed] ?? OTHER}</p>`}
    ${chosen !== undefined &&
      html`<${IntegrationInstall} key=${chosen.type} entry=${chosen} onInstalled=${again} />`}
    <h2>Installed</h2>
    ${data.integrations.length === 0
      ? html`
        <${Empty} title="Nothing is installed">
          <p>An integration tells people about approvals and alerts where they work, or lends Relay credentials for a repository.</p>
          <//>
      `
      : html`<div class="cards two">${
        data.integrations.map((integration) =>
          html`<${Integration} key=${integration.id} integration=${integration} again=${again} />`
        )
      }</div>`}
    <h2>Catalogue</h2>
    <ul class="rows">
      ${data.catalog.map((entry) => html`<${Offer} key=${entry.type} entry=${entry} />`)}
    </ul>
  `;
}

/** Why an OAuth flow failed, by the code in the address. */
const FAILED: Readonly<Record<string, string>> = {
  VALIDATION_FAILED: "The connection took too long, or was already made. Begin it again.",
  NOT_FOUND: "The integration was deleted meanwhile, so it was not connected.",
  FORBIDDEN: "The provider says that access was denied. Nothing was connected.",
  INSUFFICIENT_SCOPES: "You may no longer connect integrations. Ask an administrator.",
  INVALID_TOKEN: "Your session ended before you came back. Sign in, and begin again.",
  UNAVAILABLE: "The relay could not reach the provider. Begin again.",
};
const OTHER =
  "The provider refused the connection. Check the client and the addresses, and begin " +
  "again. The audit log has the reason.";

function Offer({ entry: { type, name, description, capabilities } }: {
  readonly entry: CatalogEntry;
}) {
  const install = () => {
    setQuery({ install: type });
    scrollTo(0, 0);
  };
  return html`
    <li>
      <p>
        <strong>${name}</strong> ${capabilities.map((one) =>
          html`<span class="label">${one}</span>${" "}`
        )}
        <br />${description}
      </p>
      ${may("system:write") &&
        html`<button type="button" aria-label=${`Install ${name}`} onClick=${install}>Install</button>`}
    </li>
  `;
}
