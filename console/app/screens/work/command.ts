import { html } from "../../html.ts";

export default function Command() {
  return html`<h1>Command</h1>`;
}
