import { html } from "../../html.ts";

export default function Policy() {
  return html`<h1>Policy</h1>`;
}
