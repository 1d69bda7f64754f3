import { html } from "htm/preact";

export default function Playground() {
  return html`<h1>Playground</h1>`;
}
