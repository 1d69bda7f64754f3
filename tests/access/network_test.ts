import { strictEqual as eq } from "node:assert/strict";
import { networkOf } from "../../core/access/limits/network.ts";

Deno.test("networkOf: an IPv4 address counts for itself, an IPv6 address for its /64", () => {
  const expected: [string, string][] = [
    ["192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["2001:db8:0:7::1", "2001:db8:0:7::/64"],
    ["2001:0DB8::7:ffff:ffff:ffff:ffff", "2001:db8:0:7::/64"],
    ["2001:db8:0:8::1", "2001:db8:0:8::/64"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["local", "local"],
  ];
  for (const [address, network] of expected) eq(networkOf(address), network, address);
});
