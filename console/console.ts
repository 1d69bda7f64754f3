/**
 * The web console: pages and scripts that use the public API like any other client. It serves static files only, the
 * same for everybody, so it needs no credential and keeps nothing but the files themselves, compressed once.
 *
 * The files are part of the program and are loaded at the first request. Where a runtime cannot load them, the API is
 * served all the same, and `/console` says why.
 */
import type { Asset, Site } from "./site.ts";

const HOME = "/console";
const ASSETS = `${HOME}/assets/`;
/** Where MCP clients send people. Those in a browser open it in a window of their own, and wait for that window. */
const AUTHORIZE = `${HOME}/authorize`;

/** A response for requests that are for the console; null for all others. */
export type ServeConsole = (request: Request) => Promise<Response> | null;

/** Serves the console. `load` makes its files. */
export function serveConsole(
  load: () => Promise<Site> = async () => (await import("./site.ts")).makeSite(),
): ServeConsole {
  let site: Promise<Site> | null = null;
  return (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/" && isNavigation(request)) {
      return Promise.resolve(new Response(null, { status: 302, headers: { location: HOME } }));
    }
    if (pathname !== HOME && !pathname.startsWith(`${HOME}/`)) return null;
    if (request.method !== "GET" && request.method !== "HEAD") {
      return Promise.resolve(text(405, "The console answers GET only.", { allow: "GET, HEAD" }));
    }
    site ??= load();
    return site.then((loaded) => answer(loaded, request, pathname), (error) => {
      site = null;
      return text(503, unavailable(error));
    });
  };
}

/** True when a person opens an address in a browser; programs that read `/` get the reference. */
const isNavigation = ({ headers, method }: Request): boolean =>
  method === "GET" && headers.get("sec-fetch-dest") === "document";

function answer({ assets, page, policy, version }: Site, request: Request, path: string): Response {
  const isAsset = path.startsWith(ASSETS);
  const asset = isAsset ? assets.get(path.slice(ASSETS.length)) : page;
  if (asset === undefined) {
    return text(
      404,
      "This console has no such file. Reload the page: Relay may have been upgraded.",
    );
  }
  const etag = `"${version}"`;
  const headers: Record<string, string> = {
    "content-type": asset.type,
    "cache-control": isAsset ? "public, max-age=31536000, immutable" : "no-cache",
    "content-security-policy": policy,
    "cross-origin-opener-policy": path === AUTHORIZE ? "unsafe-none" : "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "vary": "accept-encoding",
    etag,
  };
  // Proxies that compress make the tag a weak one.
  if (request.headers.get("if-none-match")?.replace(/^W\//, "") === etag) {
    return new Response(null, { status: 304, headers });
  }
  const { encoding, bytes } = encodedFor(asset, request.headers.get("accept-encoding") ?? "");
  if (encoding !== null) headers["content-encoding"] = encoding;
  headers["content-length"] = `${bytes.length}`;
  return new Response(request.method === "HEAD" ? null : bytes, { headers });
}

function encodedFor(asset: Asset, accepted: string) {
  const names = accepted.split(",").map((part) => part.trim());
  if (names.includes("br")) return { encoding: "br", bytes: asset.brotli };
  if (names.includes("gzip")) return { encoding: "gzip", bytes: asset.gzip };
  return { encoding: null, bytes: asset.plain };
}

const unavailable = (error: unknown) =>
  `This runtime cannot load the console's files: ${error instanceof Error ? error.message : error}.
The API works; see /docs. Start Relay with the Deno version that its README names to get the console.`;

const text = (status: number, message: string, headers: Record<string, string> = {}) =>
  new Response(`${message}\n`, {
    status,
    headers: {
      "content-type": "text/plain; charset=utf-8",
      "cache-control": "no-store",
      ...headers,
    },
  });
