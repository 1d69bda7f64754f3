import { code, definitions, methodMark, operationSection } from "./docs_operation.ts";
import { SCRIPT } from "./docs_script.ts";
import { STYLE } from "./docs_style.ts";
import { type Endpoint, lastOf } from "./docs_try.ts";
import { type Html, inline, markup, pagePolicy, prose, trusted } from "./html.ts";
import { inlineChoices, POINTER } from "../openapi/schemas.ts";
import type { OpenApi } from "../openapi/types.ts";
import type { Content } from "../call/route.ts";

const POLICY = pagePolicy(STYLE, SCRIPT);

/** One area of the interface, with its endpoints. */
interface Area {
  readonly name: string;
  readonly heading: string;
  readonly endpoints: readonly Endpoint[];
}

/** The reference page: the document as one file of HTML that loads nothing. */
export function docsPage(document: OpenApi): Content {
  return {
    type: "text/html; charset=utf-8",
    body: page(inlineChoices(document, document.components.schemas, POINTER)).markup,
    headers: {
      "content-security-policy": POLICY,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
    },
  };
}

function page(document: OpenApi): Html {
  const { title, version } = document.info;
  const areas = areasOf(document);
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} API ${version}</title>
<style>${trusted(STYLE)}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the reference</a>
<header class="top">
<p><a class="brand" href="/console">${title}</a> <span class="version">API ${version}</span></p>
<search><label for="search">Search endpoints</label>
<input id="search" type="search" placeholder="Search  ( / )" autocomplete="off" spellcheck="false">
</search>
<p class="places"><a href="/guides">Guides</a> <a href="/console">Console</a> <a href="openapi.json">openapi.json</a></p>
</header>
<div class="page">
<nav aria-label="Endpoints"><details open><summary>Contents</summary>
<ul><li><a href="#access">Access</a></li>
<li><a href="#errors">Errors</a></li>
<li><a href="#limits">Rate limits</a></li></ul>
${areas.map(contentsOf)}
</details></nav>
<main id="main" tabindex="-1">
<h1>${title} API</h1>
<p id="found" role="status"></p>
${introduction(document)}
${areas.map((area) => areaSection(document, area))}
</main>
</div>
<script>${trusted(SCRIPT)}</script>
</body>
</html>
`;
}

function areasOf(document: OpenApi): readonly Area[] {
  const endpoints = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operation,
    }))
  );
  return document.tags.map(({ name, "x-displayName": heading }) => ({
    name,
    heading,
    endpoints: endpoints.filter(({ operation }) => operation.tags.includes(name)),
  }));
}

function contentsOf({ name, heading, endpoints }: Area): Html {
  const lines = endpoints.map(({ method, operation: { operationId: id, summary } }) =>
    markup`<li data-for="${id}"><a href="#${id}">${methodMark(method)}
<span>${inline(summary)}</span></a></li>
`
  );
  return markup`<section data-area="${name}"><h2><a href="#area-${name}">${heading}</a></h2>
<ul>${lines}</ul></section>
`;
}

const countOf = ({ length }: readonly Endpoint[]): string =>
  length === 1 ? "1 endpoint" : `${length} endpoints`;

/** A group of endpoints. It is closed at first, so that a browser lays out only what somebody reads. */
function areaSection(document: OpenApi, { name, heading, endpoints }: Area): Html {
  return markup`
<details class="area" data-area="${name}">
<summary><h2 id="area-${name}">${heading}</h2> <span>${countOf(endpoints)}</span></summary>
${endpoints.map((endpoint) => operationSection(document, endpoint))}
</details>`;
}

function introduction(document: OpenApi): Html {
  const { info, components, "x-scopes": scopes, "x-error-codes": codes } = document;
  const schemes = Object.values(components.securitySchemes);
  const errors = Object.entries(codes).map(([name, { status, title }]) =>
    [[code(name), markup`<span class="status bad">${status}</span>`], title] as const
  );
  return markup`<section class="introduction">
<p class="lead">${info.summary}</p>
${prose(info.description)}
<h2 id="access">Access</h2>
<ul>${schemes.map((scheme) => markup`<li>${schemeLine(scheme)}</li>`)}</ul>
<p class="token"><label for="token">Token for trying reads</label>
<input id="token" type="password" autocomplete="off" spellcheck="false"
 placeholder="JWT or API key" aria-describedby="token-hint">
<span id="token-hint">Stays in this page; a reload discards it.</span></p>
<details><summary>Scopes</summary>
${definitions(Object.entries(scopes).map(([scope, meaning]) => [code(scope), meaning]))}</details>
<h2 id="errors">Errors</h2>
<p>Every error is <code>{ "error": { "code", "message", "details" } }</code>. Act on the code;
the message is for people, and <code>details.request_id</code> repeats <code>X-Request-Id</code>.</p>
<details><summary>Error codes</summary>
${definitions(errors)}</details>
<h2 id="limits">Rate limits</h2>
<p>Every response tells where you stand, and one with 429 when to try again:</p>
${limitHeaders(document)}
</section>`;
}

function limitHeaders({ components }: OpenApi): Html {
  const headers = Object.entries(components.responses.RateLimitExceeded?.headers ?? {});
  return definitions(headers.map(([name, header]) => {
    const { description } = "$ref" in header ? components.headers[lastOf(header)]! : header;
    return [code(name), description];
  }));
}

function schemeLine(scheme: Readonly<Record<string, string>>): Html {
  const { type, name, bearerFormat, description = "" } = scheme;
  const header = type === "apiKey"
    ? `${name}: <API key>`
    : `Authorization: Bearer <${bearerFormat}>`;
  return markup`${code(header)} ${inline(description)}`;
}
