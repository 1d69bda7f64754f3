import { html } from "../../html.ts";

export default function Agent() {
  return html`<h1>Agent</h1>`;
}
