import { html } from "../../html.ts";

export default function Delivery() {
  return html`<h1>Delivery</h1>`;
}
