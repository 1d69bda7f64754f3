import { UsageError } from "./arguments.ts";

/** Hosts whose relay is on this machine, where a name without a scheme means http. */
const LOCAL = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?(\/|$)/i;

/**
 * The address of a relay as people write it, as `http(s)://host[:port][/path]`: with http, https, ws, wss or no scheme,
 * and with or without `/ws`.
 * @throws {UsageError}
 */
export function relayAddress(text: string): string {
  const written = text.trim();
  const full = /^[a-z][a-z0-9+.-]*:\/\//i.test(written)
    ? written
    : `${LOCAL.test(written) ? "http" : "https"}://${written}`;
  const url = URL.parse(full.replace(/^ws(s?):/i, "http$1:"));
  const plain = url !== null && /^https?:$/.test(url.protocol) &&
    [url.username, url.password, url.search, url.hash].every((part) => part === "");
  if (plain) return url.origin + url.pathname.replace(/\/+$/, "").replace(/\/ws$/, "");
  throw new UsageError(
    `The address ${
      JSON.stringify(text)
    } is not a relay's. Give one such as https://relay.example.com.`,
  );
}
