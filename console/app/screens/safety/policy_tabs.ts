import { html } from "htm/preact";
import { addressOf, path } from "../../router.ts";
import { may } from "../../session.ts";

const TABS = [
  { to: "/policies", title: "In force" },
  { to: "/policies/repositories", title: "Repositories" },
  { to: "/policies/agents", title: "Agents" },
];

/** What the policies screens are, side by side. */
export function PolicyTabs() {
  const tabs = may("agents:read") ? TABS : TABS.slice(0, -1);
  return html`
    <nav class="tabs" aria-label="Policies">
      ${tabs.map(({ to, title }) =>
        html`<a href=${addressOf(to)} aria-current=${
          path.value === to ? "page" : undefined
        }>${title}</a>`
      )}
    </nav>
  `;
}
