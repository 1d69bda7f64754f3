import { html } from "htm/preact";

export default function Commands() {
  return html`<h1>Commands</h1>`;
}
