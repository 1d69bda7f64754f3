import { html } from "../../html.ts";

export default function Approvals() {
  return html`<h1>Approvals</h1>`;
}
