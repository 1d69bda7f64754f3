import { strictEqual as eq } from "node:assert/strict";
import { clientAddress } from "../../routes/http/address.ts";
import { World } from "../support/world.ts";

const PROXY = "10.0.0.1", CLIENT = "203.0.113.7";
const of = (forwarded: string | null, trusted = [PROXY], peer = PROXY) =>
  clientAddress(peer, forwarded, trusted);

Deno.test("clientAddress: ignores entries that the client wrote itself", () => {
  eq(of("198.51.100.1", [], CLIENT), CLIENT);
  eq(of("198.51.100.1", [PROXY], CLIENT), CLIENT);
  eq(of(null), PROXY);
  for (const own of ["198.51.100.1", PROXY, "nonsense", "", "::1", "198.51.100.1, 10.0.0.1"]) {
    eq(of(`${own}, 203.0.113.7`), CLIENT, own);
    eq(of(`${own}, 203.0.113.7, 10.0.0.2`, ["10.0.0.0/24"]), CLIENT, own);
  }
  // Where a proxy writes no address, its own is the only one that is known.
  for (const own of ["unknown", "203.0.113.7:x", "[203.0.113.7", ""]) {
    eq(of(`203.0.113.7, ${own}`), PROXY, own);
  }
});

Deno.test("clientAddress: drops the port after an address", () => {
  for (const written of ["203.0.113.7", "203.0.113.7:4711"]) eq(of(written), CLIENT);
  for (const written of ["2001:db8::7", "[2001:db8::7]", "[2001:db8::7]:443"]) {
    eq(of(written), "2001:db8::7");
  }
  eq(of("203.0.113.7:4711, 10.0.0.2:80", ["10.0.0.0/24"]), CLIENT);
});

Deno.test("clientAddress: takes the first entry when all are proxies, and none before an unreadable one", () => {
  const inside = ["10.0.0.0/24"];
  eq(of("10.0.0.3, 10.0.0.2", inside), "10.0.0.3");
  eq(of("203.0.113.7,10.0.0.2 , 10.0.0.3", inside), CLIENT);
  eq(of("unknown, 10.0.0.2", inside), PROXY);
  eq(of(CLIENT, inside, "local"), "local");
});

Deno.test("clientAddress: recognizes a proxy in every notation of its address", () => {
  const ways = ["10.0.0.0/8", "::ffff:10.0.0.1", "::ffff:10.0.0.0/104", "::ffff:0:0/96"];
  for (const trusted of ways) {
    for (const peer of [PROXY, "::ffff:10.0.0.1"]) {
      eq(of(CLIENT, [trusted], peer), CLIENT, trusted);
    }
    eq(of(CLIENT, [trusted], "2001:db8::1"), "2001:db8::1", trusted);
  }
  eq(of(CLIENT, ["2001:db8::/32"], "2001:db8::1"), CLIENT);
  eq(of(CLIENT, ["2001:db8::/32"], PROXY), PROXY);
});

Deno.test("limits: each client behind a proxy that writes ports has its own limit", async () => {
  const config = { limits: { public_per_minute: 2 }, trusted_proxies: [PROXY] };
  await using world = await World.open({ config });
  const ask = async (client: string) => {
    const headers = { "x-forwarded-for": client };
    return (await world.call("GET", "/.well-known/jwks.json", { from: PROXY, headers })).status;
  };
  for (const wanted of [200, 200, 429]) eq(await ask(`203.0.113.7:${4000 + wanted}`), wanted);
  for (const wanted of [200, 200, 429]) eq(await ask(`[2001:db8::${wanted}]:443`), wanted);
  // What a client writes in front of it is none of its addresses.
  eq(await ask("198.51.100.9, 203.0.113.7:1"), 429);
});
