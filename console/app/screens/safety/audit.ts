import { html } from "../../html.ts";

export default function Audit() {
  return html`<h1>Audit</h1>`;
}
