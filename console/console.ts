/**
 * The web console: pages and scripts that use the public API like any other client. It serves static files only, the
 * same for everybody, so it needs no credential and keeps nothing but the files themselves, compressed once.
 *
 * The files are part of the program and are loaded at the first request. Where a runtime cannot load them, the API is
 * served all the same, and `/console` says why.
 */
import { sent, sentText, type ServePart, servePart } from "./sent.ts";
import type { Site } from "./site.ts";

const HOME = "/console";
const ASSETS = `${HOME}/assets/`;
/** Where MCP clients send people. Those in a browser open it in a window of their own, and wait for that window. */
const AUTHORIZE = `${HOME}/authorize`;

/** Serves the console. `load` makes its files. */
export function serveConsole(
  load: () => Promise<Site> = async () => (await import("./site.ts")).makeSite(),
): ServePart {
  const serve = servePart({ home: HOME, name: "console", load, answer });
  return (request) =>
    new URL(request.url).pathname === "/" && isNavigation(request)
      ? Promise.resolve(new Response(null, { status: 302, headers: { location: HOME } }))
      : serve(request);
}

/** True when a person opens an address in a browser; programs that read `/` get the reference. */
const isNavigation = ({ headers, method }: Request): boolean =>
  method === "GET" && headers.get("sec-fetch-dest") === "document";

function answer({ assets, page, policy }: Site, request: Request, { pathname }: URL): Response {
  const isAsset = pathname.startsWith(ASSETS);
  const asset = isAsset ? assets.get(pathname.slice(ASSETS.length)) : page;
  if (asset === undefined) {
    return sentText(
      404,
      "This console has no such file. Reload the page: Relay may have been upgraded.",
    );
  }
  const headers = pathname === AUTHORIZE
    ? { "cross-origin-opener-policy": "unsafe-none" }
    : undefined;
  return sent(request, asset, { isForEver: isAsset, policy, ...headers && { headers } });
}
