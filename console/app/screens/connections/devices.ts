import { html } from "../../html.ts";

export default function Devices() {
  return html`<h1>Devices</h1>`;
}
