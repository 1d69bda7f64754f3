import { html } from "../../html.ts";

export default function Key() {
  return html`<h1>API key</h1>`;
}
