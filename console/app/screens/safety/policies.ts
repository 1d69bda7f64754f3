import { html } from "htm/preact";

export default function Policies() {
  return html`<h1>Policies</h1>`;
}
