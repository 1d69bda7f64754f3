import { html } from "../../html.ts";

export default function Join() {
  return html`<h1>Join an organization</h1>`;
}
