import { html } from "../../html.ts";

export default function Host() {
  return html`<h1>Host</h1>`;
}
