import { html } from "../../html.ts";

export default function SignUp() {
  return html`<h1>Create an organization</h1>`;
}
