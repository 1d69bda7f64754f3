import ipaddr from "ipaddr.js";

/**
 * The client's address: the peer's, or, behind trusted proxies, the last address in X-Forwarded-For that
 * is not one of theirs. What a client writes into that header itself is never believed.
 */
export function clientAddress(
  peer: string,
  forwardedFor: string | null,
  trusted: readonly string[],
): string {
  if (trusted.length === 0 || forwardedFor === null || !isTrusted(peer, trusted)) return peer;
  const hops = forwardedFor.split(",").map((hop) => hop.trim()).reverse();
  for (const hop of hops) {
    if (!ipaddr.isValid(hop)) return peer;
    if (!isTrusted(hop, trusted)) return hop;
  }
  return hops.at(-1) ?? peer;
}

function isTrusted(address: string, trusted: readonly string[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  const ip = ipaddr.process(address);
  return trusted.some((range) => {
    const [base, bits] = ipaddr.isValidCIDR(range)
      ? ipaddr.parseCIDR(range)
      : [ipaddr.process(range), ipaddr.process(range).kind() === "ipv4" ? 32 : 128] as const;
    return base.kind() === ip.kind() && ip.match(base, bits);
  });
}
