import { html } from "../../html.ts";

export default function Alerts() {
  return html`<h1>Alerts</h1>`;
}
