import { deepStrictEqual as deq, strictEqual as eq, throws } from "node:assert/strict";
import { parseConfig, planOf } from "../../core/context/config.ts";
import { Fault } from "../../core/fault/fault.ts";
import { readSettings } from "../../core/context/settings.ts";

const pathsOf = (config: unknown): string[] => {
  let paths: string[] = [];
  throws(() => parseConfig(JSON.stringify(config)), (error) => {
    paths = ((error as Fault).details.issues as { path: string }[]).map(({ path }) => path);
    return error instanceof Fault && error.code === "VALIDATION_FAILED";
  });
  return paths;
};

Deno.test("parseConfig: trusted proxies are addresses or ranges; anything else is refused at the start", () => {
  const good = ["127.0.0.1", "10.0.0.0/8", "::1", "fd00::/8", "::ffff:10.0.0.1"];
  deq(parseConfig(JSON.stringify({ trusted_proxies: good })).trusted_proxies, good);
  for (const bad of ["", "proxy.example", "10", "10/8", "10.0.0.0/33", "::/129", "1.2.3", "*"]) {
    deq(pathsOf({ trusted_proxies: ["127.0.0.1", bad] }), ["trusted_proxies.1"], bad);
  }
});

Deno.test("parseConfig: an issuer's client and name are short texts, and its secret is no field", () => {
  const entry = { issuer: "https://login.example", audience: "relay" };
  const paths = (more: object) => pathsOf({ auth: { issuers: [{ ...entry, ...more }] } });
  deq(paths({ client_id: "" }), ["auth.issuers.0.client_id"]);
  deq(paths({ name: "n".repeat(65) }), ["auth.issuers.0.name"]);
  eq(paths({ client_secret: "s" }).length, 1);
});

Deno.test("parseConfig: the default plan must exist", () => {
  const plans = { own: { requests_per_minute: 7 } };
  for (const default_plan of ["starter", "enterprise"]) {
    eq(parseConfig(JSON.stringify({ default_plan })).default_plan, default_plan);
  }
  eq(parseConfig(JSON.stringify({ plans, default_plan: "own" })).default_plan, "own");
  for (const default_plan of ["", "own", "Starter", "constructor"]) {
    deq(pathsOf({ default_plan }), ["default_plan"]);
  }
});

Deno.test("readSettings: a byte order mark at the start of the file is ignored", () => {
  const env = { RELAY_CONFIG: "relay.json" };
  const { config, configSource } = readSettings(
    env,
    () => '\ufeff{"default_plan":"team"}\n',
    false,
  );
  eq(config.default_plan, "team");
  deq(JSON.parse(configSource.read()), { default_plan: "team" });
});

Deno.test("planOf: the configuration overrides built-in plans, and an unknown name gives the default plan", () => {
  const config = parseConfig(JSON.stringify({
    plans: { starter: { requests_per_minute: 7 }, own: { requests_per_minute: 8 } },
    default_plan: "own",
  }));
  const perMinute = (name: string) => planOf(config, name).requests_per_minute;
  deq(["starter", "team", "own", "gone", "toString"].map(perMinute), [7, 500, 8, 8, 8]);
  eq(planOf(parseConfig("{}"), "gone").requests_per_minute, 100);
});
