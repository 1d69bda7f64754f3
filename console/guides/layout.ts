import { type Html, markup } from "../../routes/pages/html.ts";
import { QUERY_LENGTH_MAX } from "./search.ts";
import type { Chapter } from "./markdown.ts";

interface Page {
  readonly title: string;
  readonly content: Html;
  /** The guide that it is, if any. */
  readonly current: string;
  /** What was searched for, if anything. */
  readonly query: string;
  readonly chapters: readonly Chapter[];
  /** The address of the assets. */
  readonly base: string;
}

/** A page of the guides, in the frame and the style of the console. */
export const pageOf = ({ title, content, current, query, chapters, base }: Page): Html =>
  markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<meta name="color-scheme" content="light dark">
<title>${title} · Relay guides</title>
<link rel="icon" href="${base}icon.svg">
<link rel="stylesheet" href="${base}style.css">
</head>
<body>
<div id="app">
<a class="skip" href="#main">Skip to the guide</a>
<header class="top">
<a class="brand" href="/console">Relay</a>
<search><form action="/guides"><label class="unseen" for="q">Search the guides</label>
<input id="q" name="q" type="search" value="${query}" maxlength="${QUERY_LENGTH_MAX}"
 placeholder="Search the guides" autocomplete="off"></form></search>
<p class="places"><a href="/guides">Guides</a> <a href="/console">Console</a> <a href="/docs">API</a></p>
</header>
<nav class="nav" aria-label="Guides">
${chapters.map((chapter) => chapterOf(chapter, current))}
</nav>
<main id="main" tabindex="-1" class="guide">
${content}
</main>
</div>
</body>
</html>
`;

const chapterOf = ({ title, guides }: Chapter, current: string): Html =>
  markup`<h2>${title}</h2>
<ul>${
    guides.map(({ name, title }) => {
      const mark = name === current && markup` aria-current="page"`;
      return markup`<li><a href="/guides/${name}"${mark}>${title}</a></li>
`;
    })
  }</ul>
`;

/** The list of all guides. */
export const listOf = (chapters: readonly Chapter[]): Html =>
  markup`<h1>Guides</h1>
${
    chapters.map(({ title, guides }) =>
      markup`<h2>${title}</h2>
<ul>${
        guides.map(({ name, title, about }) =>
          markup`<li><a href="/guides/${name}">${title}</a>: ${about}</li>
`
        )
      }</ul>
`
    )
  }<p>The <a href="/docs">API reference</a> describes every endpoint.</p>`;
