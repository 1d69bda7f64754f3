import { html } from "../../html.ts";

export default function Playground() {
  return html`<h1>Playground</h1>`;
}
