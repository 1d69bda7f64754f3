import type { ComponentChildren } from "preact";
import { Failure, Loading } from "../../../components/states.ts";
import type { Data } from "../../../data.ts";
import { html } from "htm/preact";
import { addressOf } from "../../../router.ts";

/** A card of the overview, which links to the screen that shows everything. */
export function Card<T>({ title, to, data, children }: {
  readonly title: string;
  readonly to: string;
  readonly data: Data<T>;
  readonly children: (data: T) => ComponentChildren;
}) {
  return html`
    <section class="card glance">
      <h2><a href=${addressOf(to)}>${title}</a></h2>
      ${data.error !== null
        ? html`<${Failure} error=${data.error} again=${data.again} />`
        : data.data === null
        ? html`<${Loading} />`
        : children(data.data)}
    </section>
  `;
}
