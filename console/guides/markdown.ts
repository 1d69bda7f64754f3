import { Marked, type Token, type Tokens } from "marked";
import { type Html, markup, trusted } from "../../routes/pages/html.ts";

/** What links and pictures may lead to. */
export interface Places {
  /** Guides by their name: `approvals`. */
  readonly pages: Readonly<Record<string, string>>;
  /** Pictures by their name: `run-dark.png`. */
  readonly pictures: Readonly<Record<string, unknown>>;
  /** The address of the pictures. */
  readonly base: string;
}

/** A heading with the text below it, as the search reads it. */
export interface Section {
  readonly anchor: string;
  readonly title: string;
  readonly text: string;
  /** Both in lower case, in which the search looks. */
  readonly lower: { readonly title: string; readonly text: string };
}

export interface Guide {
  readonly name: string;
  readonly title: string;
  readonly content: Html;
  readonly sections: readonly Section[];
}

/** A group of guides in the list. */
export interface Chapter {
  readonly title: string;
  readonly guides: readonly {
    readonly name: string;
    readonly title: string;
    readonly about: Html;
  }[];
}

/** Reads a page of docs/. HTML in it is shown as text, except pictures. */
export function readGuide(name: string, source: string, places: Places): Guide {
  const anchors = anchorsOnce();
  const reader = readerFor(places, anchors);
  const tokens = reader.lexer(withPictures(source));
  const sections = sectionsOf(tokens, anchorsOnce());
  return { name, title: sections[0]!.title, content: trusted(reader.parser(tokens)), sections };
}

const ENTRY = /^\[([^\]]+)\]\(([\w-]+)\.md\):\s+([^]*)$/;

/** The list of guides from docs/README.md: its chapters, without pages that the program does not hold. */
export function chaptersOf(source: string, places: Places): readonly Chapter[] {
  const reader = readerFor(places, anchorsOnce());
  const tokens = reader.lexer(source);
  const titles = tokens.flatMap((token, at) =>
    token.type === "heading" && token.depth === 2 ? [at] : []
  );
  return titles.map((start, n) => ({
    title: (tokens[start] as Tokens.Heading).text,
    guides: tokens.slice(start, titles[n + 1]).filter(isList).flatMap(({ items }) => items)
      .flatMap((item) => {
        const [, title, name, about] = ENTRY.exec(item.text) ?? [];
        return name === undefined || !Object.hasOwn(places.pages, name) ? [] : [{
          name,
          title: title!,
          about: trusted(reader.parseInline(about!, { async: false })),
        }];
      }),
  })).filter(({ guides }) => guides.length > 0);
}

const isList = (token: Token): token is Tokens.List => token.type === "list";

function readerFor(places: Places, anchorOf: (heading: string) => string): Marked {
  return new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        const anchor = anchorOf(text);
        return markup`<h${depth} id="${anchor}">${trusted(this.parser.parseInline(tokens))}
<a class="anchor" href="#${anchor}" aria-label="Link to this heading">#</a></h${depth}>
`.markup;
      },
      link({ href, tokens }) {
        const text = trusted(this.parser.parseInline(tokens));
        const address = addressOf(href, places);
        return (address === null ? text : markup`<a href="${address}">${text}</a>`).markup;
      },
      image: ({ href, text, title }) => picture(href, text, title, places).markup,
      html: ({ text }) => markup`${text}`.markup,
    },
  });
}

/** The address of a link of docs/ on a relay; null for what a relay does not serve, whose text stays. */
function addressOf(href: string, { pages }: Places): string | null {
  if (/^(#|https?:\/\/)/.test(href)) return href;
  if (href === "openapi.json") return "/openapi.json";
  if (href === "README.md") return "/guides";
  const [, name, anchor] = /^([\w-]+)\.md(#[\w-]+)?$/.exec(href) ?? [];
  if (name === undefined || !Object.hasOwn(pages, name)) return null;
  return `/guides/${name}${anchor ?? ""}`;
}

const PICTURE =
  /<picture>\s*<source\s[^>]*>\s*<img\s+src="(pictures\/[\w-]+\.png)"\s+alt="([^"]*)"\s+width="(\d+)">\s*<\/picture>/g;

/** A picture of docs/ has two forms, for which Markdown has no words; here it becomes one whose title is its width. */
const withPictures = (source: string): string =>
  source.replaceAll(
    PICTURE,
    (_, path, about, width) => `![${about.replaceAll(/[[\]\s]+/g, " ")}](${path} "${width}")`,
  );

function picture(href: string, about: string, width: string | null, places: Places): Html {
  const light = href.slice("pictures/".length);
  const dark = light.replace(/-light\.png$/, "-dark.png");
  if (![light, dark].every((name) => Object.hasOwn(places.pictures, name))) return markup`${about}`;
  return markup`<picture><source media="(prefers-color-scheme: dark)" srcset="${places.base}${dark}">
<img src="${places.base}${light}" alt="${about}" width="${width}" loading="lazy"></picture>`;
}

/** Makes the anchors of a page as Git hosts do, on which the links in docs/ rely. */
function anchorsOnce(): (heading: string) => string {
  const counts = new Map<string, number>();
  return (heading) => {
    const anchor = heading.toLowerCase().replaceAll(/[^\w -]/g, "").replaceAll(" ", "-");
    const count = counts.get(anchor) ?? 0;
    counts.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  };
}

function sectionsOf(tokens: readonly Token[], anchorOf: (heading: string) => string): Section[] {
  const sections: { anchor: string; title: string; text: string }[] = [];
  for (const token of tokens) {
    if (token.type === "heading") {
      sections.push({ anchor: anchorOf(token.text), title: plain(token.text), text: "" });
    } else sections.at(-1)!.text += plain(token.raw);
  }
  return sections.map(({ anchor, title, text }) => ({
    anchor,
    title,
    text,
    lower: { title: title.toLowerCase(), text: text.toLowerCase() },
  }));
}

/** Markdown without its marks, on one line. */
const plain = (source: string): string =>
  source.replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll(/[`*|]|-{3,}|^#+/gm, "")
    .replaceAll(/\s+/g, " ");
