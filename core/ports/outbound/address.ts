import ipaddr from "ipaddr.js";

/**
 * Addresses in a public range that the hosting platform answers: Azure's endpoint, which hands out a virtual
 * machine's certificates and settings.
 */
const PLATFORM_ADDRESSES = new Set(["168.63.129.16"]);

/** 2000::/3, the only part of IPv6 that IANA has allocated to the public internet. */
const GLOBAL_UNICAST = ipaddr.IPv6.parse("2000::");
const GLOBAL_UNICAST_PREFIX_BITS = 3;

/**
 * True for an address of the public internet: not private, loopback, link-local, shared (CGNAT),
 * multicast, documentation, reserved, nor an IPv6 form that carries an IPv4 address (mapped,
 * compatible, 6to4, Teredo, NAT64). Non-canonical text and scope ids are not public.
 */
export function isPublicAddress(ip: string): boolean {
  if (ipaddr.IPv4.isValidFourPartDecimal(ip)) {
    return ipaddr.IPv4.parse(ip).range() === "unicast" && !PLATFORM_ADDRESSES.has(ip);
  }
  // A scope id names a local interface, which never leads to the public internet.
  if (!ip.includes(":") || ip.includes("%") || !ipaddr.IPv6.isValid(ip)) return false;
  const address = ipaddr.IPv6.parse(ip);
  return address.range() === "unicast" &&
    address.match(GLOBAL_UNICAST, GLOBAL_UNICAST_PREFIX_BITS);
}
