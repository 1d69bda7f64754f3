import { html } from "htm/preact";

export default function Report() {
  return html`<h1>Report</h1>`;
}
