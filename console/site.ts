import { createHash } from "node:crypto";
import { stripTypeScriptTypes } from "node:module";
import { packed } from "./asset.ts";
import { FILES, LIBRARIES } from "./files.ts";
import type { Asset } from "./sent.ts";

/** All that the console serves. */
export interface Site {
  /** By the path after `/console/assets/`. */
  readonly assets: ReadonlyMap<string, Asset>;
  /** The page, the same at every address of the console. */
  readonly page: Asset;
  /** The `Content-Security-Policy` of every response. */
  readonly policy: string;
  /** A digest of all files, the page and the policy. It is in every asset's address, so browsers keep assets for ever. */
  readonly version: string;
}

const ENTRY = "console/app/main.ts";
const WORKER = "console/app/live/worker.ts";
const STYLE = "console/app/style.css";
const ICON = "console/app/icon.svg";
const TYPES: Readonly<Record<string, string>> = {
  ts: "text/javascript; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** Makes the site from the program's files. Paths within it are those of the repository, so imports need no change. */
export function makeSite(): Site {
  const sources = new Map(
    Object.entries({ ...FILES, ...LIBRARIES }).map(([path, source]) =>
      [path, path.endsWith(".ts") ? withoutTypes(source) : source] as const
    ),
  );
  const digested = JSON.stringify([[...sources], pageOf("", "", []), policyFor("")]);
  const version = createHash("sha256").update(digested).digest("hex").slice(0, 16);
  const base = `/console/assets/${version}/`;
  const importMap = JSON.stringify({
    imports: Object.fromEntries(Object.keys(LIBRARIES).map((path) => [nameOf(path), base + path])),
  });
  const assets = new Map(
    [...sources].map(([path, source]) =>
      [
        `${version}/${path}`,
        packed(source, TYPES[path.slice(path.lastIndexOf(".") + 1)]!),
      ] as const
    ),
  );
  return {
    version,
    assets,
    page: packed(pageOf(base, importMap, preloaded(sources)), "text/html; charset=utf-8"),
    policy: policyFor(importMap),
  };
}

/** Stripping leaves spaces in place of types; runs of them at the end of lines are not sent. */
const withoutTypes = (source: string): string =>
  stripTypeScriptTypes(source).replaceAll(/^\s*\/\*\*[\s\S]*?\*\/\n/gm, "").replaceAll(
    /[ \t]+$/gm,
    "",
  )
    .replaceAll(/\n{2,}/g, "\n");

/** The bare name of a library from its path: `lib/preact/hooks.js` is `preact/hooks`. */
const nameOf = (path: string): string => path.slice("lib/".length, -".js".length);

const IMPORT = /(?:^|\n)\s*(?:import|export)\b[^;"'()]*?["'](\.[^"']+)["']/g;

/** The modules that the entry needs before it runs, so that browsers load them all at once. */
function preloaded(sources: ReadonlyMap<string, string>): readonly string[] {
  const found = new Set([ENTRY]);
  for (const path of found) {
    for (const [, target] of sources.get(path)!.matchAll(IMPORT)) {
      const resolved = new URL(target!, `file:///${path}`).pathname.slice(1);
      if (sources.has(resolved)) found.add(resolved);
    }
    for (const library of Object.keys(LIBRARIES)) {
      const isImported = new RegExp(`from\\s*["']${nameOf(library)}["']`).test(sources.get(path)!);
      if (isImported) found.add(library);
    }
  }
  return [...found];
}

const pageOf = (base: string, importMap: string, modules: readonly string[]): string =>
  `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<meta name="color-scheme" content="light dark">
<title>Relay</title>
<link rel="icon" href="${base}${ICON}">
<link rel="stylesheet" href="${base}${STYLE}">
<script type="importmap">${importMap}</script>
${modules.map((path) => `<link rel="modulepreload" href="${base}${path}">`).join("\n")}
<script type="module" src="${base}${ENTRY}"></script>
</head>
<body data-worker="${base}${WORKER}">
<div id="app"><p class="starting">Relay</p></div>
<noscript><p class="starting">The console needs JavaScript. The API's reference is at <a href="/docs">/docs</a>.</p></noscript>
</body>
</html>
`;

const policyFor = (importMap: string): string =>
  [
    "default-src 'none'",
    `script-src 'self' 'sha256-${createHash("sha256").update(importMap).digest("base64")}'`,
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
