import { type Html, markup } from "../../routes/pages/html.ts";
import type { Guide, Section } from "./markdown.ts";

/** Longer queries are cut. */
export const QUERY_LENGTH_MAX = 100;
/** Further words of a query do not count, because anybody may search. */
const WORDS_MAX = 8;
const RESULTS_MAX = 40;
/** Characters of a section that are shown around the first word. */
const SHOWN_BEFORE = 60;
const SHOWN_LENGTH = 220;

interface Hit {
  readonly guide: Guide;
  readonly section: Section;
  readonly score: number;
  readonly first: number;
}

/** The sections that have all words of a query, ignoring case: those with words in their titles first. */
export function found(guides: readonly Guide[], query: string): Html {
  const all = new Set(query.toLowerCase().split(/\s+/).filter(Boolean));
  const words = [...all].slice(0, WORDS_MAX);
  const hits = guides.flatMap((guide) =>
    guide.sections.flatMap((section) => hitOf(guide, section, words))
  );
  hits.sort((a, b) => b.score - a.score);
  const count = hits.length === 1 ? "1 section" : `${hits.length} sections`;
  return markup`<h1>Search</h1>
<p role="status">${hits.length === 0 ? "No section" : count} with “${query}”.${
    all.size > WORDS_MAX && ` Only the first ${WORDS_MAX} words count.`
  }
${
    hits.length > RESULTS_MAX && `The first ${RESULTS_MAX} are shown.`
  } <a href="/guides">All guides</a></p>
<ol class="found">${hits.slice(0, RESULTS_MAX).map(shown)}</ol>`;
}

function hitOf(guide: Guide, section: Section, words: readonly string[]): Hit[] {
  const { title, text } = section.lower;
  const page = guide.sections[0]!.lower.title;
  let [inTitle, inPage, inText, first] = [0, 0, 0, Infinity];
  for (const word of words) {
    const isInTitle = title.includes(word);
    const isInPage = page.includes(word);
    const at = text.indexOf(word);
    if (!isInTitle && !isInPage && at < 0) return [];
    if (isInTitle) inTitle++;
    if (isInPage) inPage++;
    if (at >= 0) {
      inText++;
      first = Math.min(first, at);
    }
  }
  if (inTitle + inText === 0 && section !== guide.sections[0]) return [];
  const score = 4 * inTitle + 2 * inPage + inText;
  return [{ guide, section, score, first: inText === 0 ? 0 : first }];
}

function shown({ guide, section, first }: Hit): Html {
  const start = Math.max(0, first - SHOWN_BEFORE);
  const part = section.text.slice(start, start + SHOWN_LENGTH).toWellFormed().trim();
  const isCut = start + SHOWN_LENGTH < section.text.length;
  const of = section === guide.sections[0] ? "" : ` › ${section.title}`;
  return markup`<li><a href="/guides/${guide.name}#${section.anchor}">${guide.title}${of}</a>
<p class="soft">${start > 0 && "… "}${part}${isCut && " …"}</p></li>
`;
}
