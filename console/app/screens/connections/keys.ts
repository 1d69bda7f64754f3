import { html } from "../../html.ts";

export default function Keys() {
  return html`<h1>API keys</h1>`;
}
