import { html } from "../../html.ts";

export default function Compliance() {
  return html`<h1>Compliance</h1>`;
}
