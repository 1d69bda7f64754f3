import { html } from "htm/preact";

export default function Command() {
  return html`<h1>Command</h1>`;
}
