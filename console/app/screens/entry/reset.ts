import { html } from "../../html.ts";

export default function Reset() {
  return html`<h1>Choose a new password</h1>`;
}
