import { call } from "../../../api.ts";
import { useData } from "../../../data.ts";
import { html } from "htm/preact";
import { addressOf } from "../../../router.ts";

/** Tells whoever may switch them that rules find things and decide nothing. */
export function WatchingNote() {
  const { data } = useData(
    async (signal) => await call("patterns.list", { query: { limit: 100 }, signal }),
    [],
    { types: ["shield"] },
  );
  if (data === null) return null;
  const packs = data.patterns.filter(({ enabled, watched }) => enabled && watched);
  const names = [...packs.map(({ pack }) => pack), ...data.watched_rules];
  if (names.length === 0) return null;
  return html`
    <section class="card notice">
      <p>Some rules of the shield only watch: ${names.join(", ")}. They decide nothing until
        somebody <a href=${addressOf("/shield", { find: names[0]! })}>looks at what they would have
        held and turns them on</a>.</p>
    </section>
  `;
}
