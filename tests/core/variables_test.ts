import { deepStrictEqual as deq, match } from "node:assert/strict";
import { readSettings } from "../../core/work/settings.ts";
import { SETTINGS, unreadVariables } from "../../core/work/variables.ts";

const meant = (name: string): string | undefined => {
  const [said] = unreadVariables({ [name]: "hidden" });
  return said === undefined ? "nothing wrong" : /did you mean (\w+)\?$/.exec(said)?.[1];
};

Deno.test("unreadVariables: a misspelt name gets a suggestion, and its value is not shown", () => {
  deq(unreadVariables({ RELAY_SECERT: "hidden", RELAY_SECRET: "hidden", HOME: "/root" }), [
    'Relay does not read the variable "RELAY_SECERT": did you mean RELAY_SECRET?',
  ]);
  deq(
    ["RELAY_PROT", "RELAY_KVV", "relay_host", "RELAY_TLS_CERT_FILE", "RELAY_SECRET_OLDER"]
      .map(meant),
    ["RELAY_PORT", "RELAY_KV", "RELAY_HOST", "RELAY_TLS_CERT", "RELAY_SECRET_OLD"],
  );
  deq(unreadVariables({ RELAY_TRUSTED_PROXIES: "hidden" }), [
    'Relay does not read the variable "RELAY_TRUSTED_PROXIES": `relay help` lists the valid ones',
  ]);
});

Deno.test("unreadVariables: variables of commands, tests and containers give no warning", () => {
  const names = [
    ...Object.keys(SETTINGS),
    "RELAY_SECRET_OLD_2",
    "RELAY_URL",
    "RELAY_TOKEN",
    "RELAY_WEBHOOK_SECRET",
    "RELAY_TEST_KV_URL",
    "RELAY_SERVICE_HOST",
    "RELAY_SERVICE_PORT_HTTP",
    "RELAY_PORT_9081_TCP_ADDR",
    "RELAY_API_SERVICE_PORT",
  ];
  deq(names.filter((name) => meant(name) !== "nothing wrong"), []);
  deq(unreadVariables({ RELAY_API_PORT: "tcp://10.0.0.1:80", RELAY_NOTHING: "" }), []);
});

Deno.test("readSettings: the address of a service named relay is not a port, and gives a warning", () => {
  const env = { RELAY_PORT: "tcp://10.0.0.1:80" };
  const { port, environment } = readSettings(env, () => "", false);
  deq([port, environment], [9081, []]);
  const [said] = unreadVariables(env);
  match(said!, /^RELAY_PORT is ignored: it is the address of a service named relay, /);
});

Deno.test("SETTINGS: the configuration page lists each variable, and no other", () => {
  const page = Deno.readTextFileSync(new URL("../../docs/configuration.md", import.meta.url));
  const [, table] = /^(\| variable .*?)\n\n/ms.exec(page)!;
  const names = table!.split("\n").flatMap((row) =>
    [...row.split("|")[1]!.matchAll(/RELAY_\w+/g)].map(([name]) => name)
  );
  deq(names, Object.keys(SETTINGS));
});
