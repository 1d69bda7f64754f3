import { html } from "htm/preact";

export default function Run() {
  return html`<h1>Run</h1>`;
}
