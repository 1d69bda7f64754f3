import { html } from "../../html.ts";

export default function Webhook() {
  return html`<h1>Webhook</h1>`;
}
