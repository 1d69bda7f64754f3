/** A file in each form in which it is sent; null for forms that it does not have. */
export interface Asset {
  readonly type: string;
  readonly plain: Uint8Array<ArrayBuffer>;
  readonly gzip: Uint8Array<ArrayBuffer> | null;
  readonly brotli: Uint8Array<ArrayBuffer> | null;
  readonly etag: string;
}

/** A response for requests below an address; null for all others. */
export type ServePart = (request: Request) => Promise<Response> | null;

/** A part of the program that serves files, and loads them at the first request. */
interface Part<Files> {
  /** The address below which it serves. */
  readonly home: string;
  /** Its name in messages: `console`. */
  readonly name: string;
  load(): Promise<Files>;
  answer(files: Files, request: Request, url: URL): Response;
}

/** Serves a part. Where a runtime cannot load its files, the response says so, and the next request tries again. */
export function servePart<Files>({ home, name, load, answer }: Part<Files>): ServePart {
  let files: Promise<Files> | null = null;
  return (request) => {
    const url = new URL(request.url);
    if (url.pathname !== home && !url.pathname.startsWith(`${home}/`)) return null;
    if (request.method !== "GET" && request.method !== "HEAD") {
      return Promise.resolve(
        sentText(405, `${home} answers GET only.`, { allow: "GET, HEAD" }),
      );
    }
    files ??= load();
    return files.then((loaded) => answer(loaded, request, url), (error) => {
      files = null;
      return sentText(503, unavailable(name, error));
    });
  };
}

/** What the response to a request adds to a file. */
interface Sending {
  readonly status?: number;
  /** True for an address that has a digest of its content. */
  readonly isForEver?: boolean;
  readonly policy: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends a file in the best form that the client accepts, or 304. */
export function sent(request: Request, asset: Asset, sending: Sending): Response {
  const { status = 200, isForEver = false, policy, headers: others } = sending;
  const headers: Record<string, string> = {
    "content-type": asset.type,
    "cache-control": isForEver ? "public, max-age=31536000, immutable" : "no-cache",
    "content-security-policy": policy,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "vary": "accept-encoding",
    "etag": asset.etag,
    ...others,
  };
  // Proxies that compress make the tag a weak one.
  if (request.headers.get("if-none-match")?.replace(/^W\//, "") === asset.etag) {
    return new Response(null, { status: 304, headers });
  }
  const { encoding, bytes } = encodedFor(asset, request.headers.get("accept-encoding") ?? "");
  if (encoding !== null) headers["content-encoding"] = encoding;
  headers["content-length"] = `${bytes.length}`;
  return new Response(request.method === "HEAD" ? null : bytes, { status, headers });
}

function encodedFor({ plain, gzip, brotli }: Asset, accepted: string) {
  const names = accepted.split(",").map((part) => part.trim());
  if (brotli !== null && names.includes("br")) return { encoding: "br", bytes: brotli };
  if (gzip !== null && names.includes("gzip")) return { encoding: "gzip", bytes: gzip };
  return { encoding: null, bytes: plain };
}

const unavailable = (name: string, error: unknown) =>
  `This runtime cannot load the ${name}'s files: ${error instanceof Error ? error.message : error}.
The API works; see /docs. Start Relay with the Deno version that its README names to get the ${name}.`;

/** A response for people that needs no file. */
export const sentText = (status: number, message: string, headers: Record<string, string> = {}) =>
  new Response(`${message}\n`, {
    status,
    headers: {
      "content-type": "text/plain; charset=utf-8",
      "cache-control": "no-store",
      ...headers,
    },
  });
