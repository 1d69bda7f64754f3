import { createHash } from "node:crypto";
import { packed, unpacked } from "../asset.ts";
import type { Asset } from "../sent.ts";
import { type Html, markup } from "../../routes/pages/html.ts";
import { CHAPTERS, ICON, PAGES, PICTURES, STYLES } from "./files.ts";
import { listOf, pageOf } from "./layout.ts";
import { type Chapter, chaptersOf, type Guide, readGuide } from "./markdown.ts";
import { found, QUERY_LENGTH_MAX } from "./search.ts";

/** All that the guides serve. */
export interface Guides {
  /** By the path after `/guides/assets/`. */
  readonly assets: ReadonlyMap<string, Asset>;
  readonly chapters: readonly Chapter[];
  list(): Asset;
  /** The page of a guide, or null if there is no such guide. */
  page(name: string): Asset | null;
  /** The sections that have all words of a query. */
  search(query: string): Asset;
  /** What is served in place of a page that is not there. */
  missing(): Asset;
}

const HTML = "text/html; charset=utf-8";

/** Makes the guides from the program's files. */
export function makeGuides(): Guides {
  const style = packed(STYLES.join("\n"), "text/css; charset=utf-8");
  const files = new Map([
    ["style.css", style],
    ["icon.svg", packed(ICON, "image/svg+xml")],
    ...Object.entries(PICTURES).map(([name, bytes]) =>
      [name, unpacked(bytes, "image/png")] as const
    ),
  ]);
  const tags = [...files.values()].map(({ etag }) => etag).join();
  const version = createHash("sha256").update(tags).digest("hex").slice(0, 16);
  const base = `/guides/assets/${version}/`;
  const places = { pages: PAGES, pictures: PICTURES, base };
  const chapters = chaptersOf(CHAPTERS, places);

  const guides = new Map<string, Guide>();
  const guideOf = (name: string) =>
    guides.getOrInsertComputed(name, () => readGuide(name, PAGES[name]!, places));
  const pages = new Map<string, Asset>();
  const kept = (name: string, make: () => Asset) => pages.getOrInsertComputed(name, make);
  const shown = (title: string, content: Html, current = "", query = "") =>
    pageOf({ title, content, current, query, chapters, base }).markup;
  const once = (text: string) => unpacked(new TextEncoder().encode(text), HTML);

  return {
    chapters,
    assets: new Map([...files].map(([name, asset]) => [`${version}/${name}`, asset])),
    list: () => kept("", () => packed(shown("Guides", listOf(chapters)), HTML)),
    page: (name) =>
      Object.hasOwn(PAGES, name)
        ? kept(name, () => packed(shown(guideOf(name).title, guideOf(name).content, name), HTML))
        : null,
    search(text) {
      const query = text.slice(0, QUERY_LENGTH_MAX).toWellFormed();
      return once(shown("Search", found(Object.keys(PAGES).map(guideOf), query), "", query));
    },
    missing: () =>
      once(shown(
        "No such guide",
        markup`<h1>No such guide</h1>
<p>This relay has no guide at this address. <a href="/guides">All guides</a></p>`,
      )),
  };
}
