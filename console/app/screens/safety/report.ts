import { html } from "../../html.ts";

export default function Report() {
  return html`<h1>Report</h1>`;
}
