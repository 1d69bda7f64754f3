import { html } from "htm/preact";

export default function FleetCommand() {
  return html`<h1>Fleet command</h1>`;
}
