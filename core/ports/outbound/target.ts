import { isIP } from "node:net";

import { RecentMap } from "../../../kv/store/recent.ts";
import { OutboundError } from "../interfaces.ts";
import { isPublicAddress } from "./address.ts";

/** Longer addresses are refused before they are parsed. */
const MAX_URL_CHARS = 8192; // the limit of most servers for a request line

/** Parsed URLs. Whether one may be dialled is decided each time. */
const parsed = new RecentMap<Target>(1_000);

interface Target {
  readonly url: URL;
  /** The host when it is an IP address, which no lookup checks. */
  readonly literal: string | null;
}

/**
 * Parses a URL to dial as browsers do, so that `2130706433`, `0x7f.1` and `127.1` all mean 127.0.0.1. Callers
 * share the result and must not change it.
 * @throws {OutboundError} `http` for an unusable URL, `refused_address` for a forbidden literal.
 */
export function checkTarget(text: string, allowPrivate: boolean): URL {
  let target = parsed.get(text);
  if (target === undefined) parsed.set(text, target = parseTarget(text));
  const { url, literal } = target;
  if (literal !== null && !allowPrivate && !isPublicAddress(literal)) {
    throw refusedAddress(literal, literal);
  }
  return url;
}

function parseTarget(text: string): Target {
  const url = text.length <= MAX_URL_CHARS && URL.canParse(text) ? new URL(text) : null;
  if (url === null) throw new OutboundError("http", "The URL cannot be parsed.");
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new OutboundError("http", `The URL must use http or https, not ${url.protocol}`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new OutboundError("http", "The URL must not hold a user name or a password.");
  }
  const host = dialledHost(url);
  return { url, literal: isIP(host) === 0 ? null : host };
}

/** The host of a URL as a socket takes it: IPv6 addresses without brackets. */
export function dialledHost(url: URL): string {
  return url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname;
}

/** The error for a host of which one address is forbidden. */
export function refusedAddress(host: string, address: string): OutboundError {
  const which = host === address ? address : `${host} resolves to ${address}, which`;
  return new OutboundError(
    "refused_address",
    `${which} is not a public address. Whoever runs this relay can allow private ones with ` +
      "`outbound.allow_private_targets` in its RELAY_CONFIG.",
  );
}
