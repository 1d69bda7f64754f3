import { isIP } from "node:net";

import { RecentMap } from "../../../kv/store/recent.ts";
import { OutboundError } from "../interfaces.ts";
import { isPublicAddress } from "./address.ts";

/** Longer addresses are refused before they are parsed. */
const MAX_URL_CHARS = 8192; // what most servers take in a request line

/** Addresses whose form is good, as they were parsed; whether they may be dialled is asked each time. */
const parsed = new RecentMap<Target>(1_000);

interface Target {
  readonly url: URL;
  /** The host when it is an address itself, which no name look-up will see. */
  readonly literal: string | null;
}

/**
 * The address to dial, parsed as browsers do, so that `2130706433`, `0x7f.1` and `127.1` are all
 * seen as 127.0.0.1. Callers share what they get, so they only read it.
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
    throw new OutboundError("http", `Only http and https are dialled, not ${url.protocol}`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new OutboundError("http", "A URL must not hold a user name or a password.");
  }
  const host = dialledHost(url);
  return { url, literal: isIP(host) === 0 ? null : host };
}

/** The host of a URL as a socket takes it: an IPv6 address without its brackets. */
export function dialledHost(url: URL): string {
  return url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname;
}

/** The refusal of a host for one of the addresses that it stands for. */
export function refusedAddress(host: string, address: string): OutboundError {
  const which = host === address ? address : `${host} resolves to ${address}, which`;
  return new OutboundError("refused_address", `${which} is not a public address.`);
}
