import { html } from "../../html.ts";

export default function Integrations() {
  return html`<h1>Integrations</h1>`;
}
