import { html } from "htm/preact";

export default function Policy() {
  return html`<h1>Policy</h1>`;
}
