import { html } from "../../html.ts";

export default function FleetCommand() {
  return html`<h1>Fleet command</h1>`;
}
