import { html } from "htm/preact";
import { Copy } from "./copy.ts";

/** A secret that no later answer of the API holds. It leaves the page when the viewer says so. */
export function ShownOnce({ title, about, text, done, onDone }: {
  readonly title: string;
  readonly about: string;
  readonly text: string;
  /** What the button says. */
  readonly done: string;
  readonly onDone: () => void;
}) {
  return html`
    <section class="card notice" aria-label=${title}>
      <h2>${title}</h2>
      <p>${about}</p>
      <${Copy} text=${text} />
      <p><button type="button" class="primary" onClick=${onDone}>${done}</button></p>
    </section>
  `;
}
