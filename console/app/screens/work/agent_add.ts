import { html } from "../../html.ts";

export default function AgentAdd() {
  return html`<h1>Add a machine</h1>`;
}
