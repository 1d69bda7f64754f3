import assert from "node:assert/strict";

import { isPublicAddress } from "../../core/ports/outbound/address.ts";
import { checkTarget } from "../../core/ports/outbound/target.ts";
import { OutboundError } from "../../core/ports/ports.ts";

/** Addresses that lead inside, by the reason, with both edges of each range. */
const FORBIDDEN: Readonly<Record<string, readonly string[]>> = {
  "this network": ["0.0.0.0", "0.255.255.255"],
  private: [
    "10.0.0.0",
    "10.255.255.255",
    "172.16.0.0",
    "172.31.255.255",
    "192.168.0.0",
    "192.168.255.255",
  ],
  loopback: ["127.0.0.0", "127.0.0.1", "127.255.255.255", "::1"],
  "link-local": ["169.254.0.0", "169.254.255.255", "fe80::1", "febf::1"],
  CGNAT: ["100.64.0.0", "100.127.255.255"],
  metadata: [
    "169.254.169.254",
    "169.254.170.2",
    "100.100.100.200",
    "192.0.0.192",
    "168.63.129.16",
    "fd00:ec2::254",
  ],
  protocol: ["192.0.0.0", "192.0.0.255", "192.88.99.1", "192.52.193.1", "192.31.196.1"],
  documentation: ["192.0.2.1", "198.51.100.1", "203.0.113.255", "2001:db8::1", "3fff::1"],
  benchmarking: ["198.18.0.0", "198.19.255.255", "2001:2::1"],
  multicast: ["224.0.0.0", "239.255.255.255", "ff02::1", "ff0e::1"],
  reserved: ["240.0.0.0", "255.255.255.254", "255.255.255.255", "4000::1", "fe00::1", "1::1"],
  unspecified: ["::"],
  "unique local": ["fc00::", "fdff:ffff::1"],
  "site-local": ["fec0::1"],
  discard: ["100::1"],
  mapped: ["::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:8.8.8.8", "0:0:0:0:0:ffff:a00:1"],
  compatible: ["::7f00:1", "::10.0.0.1", "::8.8.8.8"],
  translated: ["::ffff:0:7f00:1", "::ffff:0:8.8.8.8"],
  NAT64: ["64:ff9b::7f00:1", "64:ff9b::10.0.0.1", "64:ff9b::8.8.8.8", "64:ff9b:1::a00:1"],
  "6to4": ["2002:7f00:1::", "2002:a00:1::1", "2002:808:808::"],
  Teredo: ["2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2"],
  ORCHID: ["2001:10::1", "2001:20::1"],
  "segment routing": ["5f00::1"],
  "scope id": ["fe80::1%eth0", "fe80::1%1", "2606:4700::1111%eth0"],
  "not an address": [
    "",
    "localhost",
    "example.com",
    "2130706433",
    "0x7f.1",
    "0177.0.0.1",
    "127.1",
    "8.8.8",
    "08.8.8.8",
    "8.8.8.8.",
    " 8.8.8.8",
    "8.8.8.8/32",
    "[::1]",
    "[2606:4700::1111]",
    "1.2.3.256",
    ":::1",
  ],
};

const ALLOWED = [
  "1.1.1.1",
  "8.8.8.8",
  "9.255.255.255",
  "11.0.0.0",
  "100.63.255.255",
  "100.128.0.0",
  "126.255.255.255",
  "128.0.0.1",
  "168.63.129.15",
  "169.253.255.255",
  "169.255.0.0",
  "172.15.255.255",
  "172.32.0.0",
  "192.167.255.255",
  "192.169.0.0",
  "198.17.255.255",
  "198.20.0.0",
  "223.255.255.255",
  "2001:4860:4860::8888",
  "2606:4700:4700::1111",
  "2a00:1450:4001::1",
];

for (const [range, addresses] of Object.entries(FORBIDDEN)) {
  Deno.test(`isPublicAddress: refuses ${range}`, () => {
    for (const address of addresses) assert.equal(isPublicAddress(address), false, address);
  });
}

Deno.test("isPublicAddress: allows public addresses, the neighbours of each range included", () => {
  for (const address of ALLOWED) assert.equal(isPublicAddress(address), true, address);
});

/** Ways to write an internal address that a URL parser understands. */
const DISGUISED = [
  "http://127.0.0.1/",
  "https://127.0.0.1/",
  "http://127.0.0.1./",
  "http://2130706433/",
  "http://0x7f000001/",
  "http://0x7f.1/",
  "http://0177.0.0.1/",
  "http://017700000001/",
  "http://127.1/",
  "http://0/",
  "http:\\\\127.0.0.1\\",
  "http:127.0.0.1",
  "http://@127.0.0.1/",
  "http://１２７.0.0.1/",
  "http://①②⑦.0.0.1/",
  "http://127%2e0.0.1/",
  "http://169.254.169.254/latest/meta-data",
  "http://[::1]/",
  "http://[::]/",
  "http://[::ffff:127.0.0.1]/",
  "http://[0:0:0:0:0:ffff:7f00:1]:8080/",
  "http://[::127.0.0.1]/",
  "http://[64:ff9b::7f00:1]/",
  "http://[2002:7f00:1::]/",
  "http://[fe80::1]/",
];

Deno.test("checkTarget: refuses an internal address in every spelling", () => {
  for (const url of DISGUISED) assertRefused(() => checkTarget(url, false), "refused_address", url);
});

Deno.test("checkTarget: says of a refused address which setting allows it, and who can set it", () => {
  assert.throws(() => checkTarget("http://127.1/hook", false), {
    message: "127.0.0.1 is not a public address. Whoever runs this relay can allow private ones " +
      "with `outbound.allow_private_targets` in its RELAY_CONFIG.",
  });
});

Deno.test("checkTarget: lets an internal address pass only when the policy allows it", () => {
  for (const url of DISGUISED) assert.doesNotThrow(() => checkTarget(url, true), url);
});

Deno.test("checkTarget: refuses other schemes, credentials and invalid URLs, allowed or not", () => {
  const unusable = [
    "",
    "/relative",
    "ftp://example.com/",
    "file:///etc/passwd",
    "data:text/plain,x",
    "ws://example.com/",
    "http://user@example.com/",
    "http://:secret@example.com/",
    "http://user:secret@example.com/",
    "http://",
    "http://exa mple.com/",
    "http://256.1.1.1/",
    "http://1.2.3.4.5/",
    "http://[fe80::1%25eth0]/",
    "http://[::1/",
    "http://example.com:65536/",
    `http://example.com/${"a".repeat(8192)}`,
  ];
  for (const url of unusable) {
    for (const allowed of [true, false]) {
      assertRefused(() => checkTarget(url, allowed), "http", url);
    }
  }
});

Deno.test("checkTarget: lets names and public literals pass", () => {
  for (const url of ["https://example.com/a?b=c", "http://8.8.8.8:8080/", "https://[2a00::1]/"]) {
    assert.equal(checkTarget(url, false).href, url);
  }
});

function assertRefused(act: () => unknown, kind: string, message: string): void {
  assert.throws(act, (error) => {
    assert.ok(error instanceof OutboundError, message);
    assert.equal(error.kind, kind, message);
    return true;
  }, message);
}
