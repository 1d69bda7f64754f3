import { html } from "../../html.ts";

export default function Commands() {
  return html`<h1>Commands</h1>`;
}
