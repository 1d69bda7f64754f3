import { html } from "../../html.ts";

export default function Overview() {
  return html`<h1>Overview</h1>`;
}
