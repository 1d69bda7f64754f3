/**
 * The guides: the pages of docs/ that people need who use Relay, as part of the program. They are the same for
 * everybody and need no script. Each is rendered when it is first opened.
 */
import type { Guides } from "./guides/guides.ts";
import { sent, type ServePart, servePart } from "./sent.ts";

const HOME = "/guides";
const ASSETS = `${HOME}/assets/`;

const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

/** Serves the guides. `load` makes them. */
export const serveGuides = (
  load: () => Promise<Guides> = async () => (await import("./guides/guides.ts")).makeGuides(),
): ServePart => servePart({ home: HOME, name: "guides", load, answer });

function answer(guides: Guides, request: Request, { pathname, searchParams }: URL): Response {
  const sending = { policy: POLICY };
  if (pathname.startsWith(ASSETS)) {
    const asset = guides.assets.get(pathname.slice(ASSETS.length));
    if (asset !== undefined) return sent(request, asset, { ...sending, isForEver: true });
  }
  if (pathname === HOME) {
    const words = searchParams.get("q") ?? "";
    return sent(request, words.trim() === "" ? guides.list() : guides.search(words), sending);
  }
  const page = guides.page(pathname.slice(`${HOME}/`.length));
  return page === null
    ? sent(request, guides.missing(), { ...sending, status: 404 })
    : sent(request, page, sending);
}
