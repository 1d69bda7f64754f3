import ipaddr from "ipaddr.js";

/**
 * The network that failures and requests of an address count for: an IPv4 address itself, the /64 of an IPv6
 * address, since one client may use all of it. Other text is returned unchanged.
 */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const ip = ipaddr.process(address);
  if (ip instanceof ipaddr.IPv4) return ip.toString();
  return `${ip.parts.slice(0, 4).map((part) => part.toString(16)).join(":")}::/64`;
}
