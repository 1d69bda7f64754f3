import { call, type CatalogEntry } from "../../api.ts";
import { Empty, Failure, Loading } from "../../components/states.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { query, setQuery } from "../../router.ts";
import { may } from "../../session.ts";
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
  const { install } = query.value;
  const chosen = may("system:write")
    ? data.catalog.find(({ type }) => type === install)
    : undefined;
  return html`
    <div class="title">
      <h1>Integrations</h1>
    </div>
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
