import { html } from "../../html.ts";

export default function Settings() {
  return html`<h1>Settings</h1>`;
}
