import { html } from "../../html.ts";

export default function Approval() {
  return html`<h1>Approval</h1>`;
}
