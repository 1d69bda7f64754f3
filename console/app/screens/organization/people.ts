import { html } from "../../html.ts";

export default function People() {
  return html`<h1>People and roles</h1>`;
}
