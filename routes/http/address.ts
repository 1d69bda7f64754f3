import ipaddr from "ipaddr.js";

/**
 * The client's address: the peer's, or, behind trusted proxies, the last address in X-Forwarded-For that
 * is not a trusted proxy's. Entries that the client wrote itself are ignored.
 */
export function clientAddress(
  peer: string,
  forwardedFor: string | null,
  trusted: readonly string[],
): string {
  if (trusted.length === 0 || forwardedFor === null || !isTrusted(peer, trusted)) return peer;
  const hops = forwardedFor.split(",").map((hop) => withoutPort(hop.trim())).reverse();
  for (const hop of hops) {
    if (!ipaddr.isValid(hop)) return peer;
    if (!isTrusted(hop, trusted)) return hop;
  }
  return hops.at(-1) ?? peer;
}

/** Some proxies append the client's port, and put an IPv6 address in brackets. */
function withoutPort(hop: string): string {
  const [, bracketed, plain] = /^(?:\[(.*)\]|([^:]*))(?::\d+)?$/.exec(hop) ?? [];
  return bracketed ?? plain ?? hop;
}

function isTrusted(address: string, trusted: readonly string[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  const ip = ipaddr.process(address);
  return trusted.some((text) => {
    const [base, bits] = rangeOf(text);
    return base.kind() === ip.kind() && ip.match(base, bits);
  });
}

/** An address range; a single address is a range of one. IPv4 addresses written as IPv6 are unwrapped. */
function rangeOf(text: string): readonly [ipaddr.IPv4 | ipaddr.IPv6, number] {
  const [base, bits] = ipaddr.isValidCIDR(text)
    ? ipaddr.parseCIDR(text)
    : [ipaddr.parse(text), text.includes(":") ? 128 : 32] as const;
  const mapped = base instanceof ipaddr.IPv6 && base.isIPv4MappedAddress() && bits >= 96;
  return mapped ? [base.toIPv4Address(), bits - 96] : [base, bits];
}
