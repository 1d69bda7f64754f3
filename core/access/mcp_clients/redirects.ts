/**
 * Where a browser may be sent with a code: an https address, a program of this machine on a loopback address, or a
 * program that has a scheme of its own (RFC 8252).
 */

const REDIRECT_CHARS_MAX = 512;
const PRINTABLE = /^[\x21-\x7e]+$/;
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;
/** Schemes that browsers themselves handle, so that no program of the client would get the code. */
const BROWSER_SCHEMES = new Set([
  ...["about:", "blob:", "data:", "file:", "filesystem:", "ftp:", "intent:", "javascript:"],
  ...["mailto:", "sms:", "tel:", "vbscript:", "view-source:", "ws:", "wss:"],
]);

const isLoopback = ({ protocol, hostname }: URL): boolean =>
  protocol === "http:" && LOOPBACK.test(hostname);

/** The end of a sentence about an address that no client may register; null for a usable one. */
export function redirectProblem(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || !PRINTABLE.test(text)) return "must be an absolute URL";
  if (text.length > REDIRECT_CHARS_MAX) return `must have at most ${REDIRECT_CHARS_MAX} characters`;
  if (text.includes("#")) return "must have no fragment";
  if (url.username !== "" || url.password !== "") return "must have no user name and no password";
  if (url.protocol === "http:" && !isLoopback(url)) return "must use https, or be on loopback";
  return BROWSER_SCHEMES.has(url.protocol) ? `must not use ${url.protocol}` : null;
}

/** True for an address that is among the registered ones, exactly; on loopback any port is the same. */
export function isRegistered(registered: readonly string[], given: string): boolean {
  if (redirectProblem(given) !== null) return false;
  return registered.some((each) => each === given || withoutPort(each) === withoutPort(given));
}

/** A loopback address without its port; for any other address a text that equals nothing. */
function withoutPort(text: string): string | symbol {
  const url = new URL(text);
  if (!isLoopback(url)) return Symbol();
  url.port = "";
  return url.href;
}

/** An address with more in its query. */
export function withQuery(
  text: string,
  more: Readonly<Record<string, string | undefined>>,
): string {
  const url = new URL(text);
  for (const [name, value] of Object.entries(more)) {
    if (value !== undefined) url.searchParams.append(name, value);
  }
  return url.href;
}
