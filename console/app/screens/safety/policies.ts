import { html } from "../../html.ts";

export default function Policies() {
  return html`<h1>Policies</h1>`;
}
