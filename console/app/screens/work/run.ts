import { html } from "../../html.ts";

export default function Run() {
  return html`<h1>Run</h1>`;
}
