import { html } from "../../html.ts";

export default function Webhooks() {
  return html`<h1>Webhooks</h1>`;
}
