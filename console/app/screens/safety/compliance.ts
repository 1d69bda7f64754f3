import { html } from "htm/preact";

export default function Compliance() {
  return html`<h1>Compliance</h1>`;
}
