import { deepStrictEqual as deq, match, strictEqual as eq, throws } from "node:assert/strict";
import { readSettings } from "../../core/context/settings.ts";
import { ENVIRONMENT } from "../../core/context/environment.ts";
import { unreadVariables } from "../../core/context/unread_variables.ts";
import { withSettingsTables } from "../support/settings_table.ts";

const meant = (name: string): string | undefined => {
  const [said] = unreadVariables({ [name]: "hidden" });
  return said === undefined ? "nothing wrong" : /did you mean (\w+)\?$/.exec(said)?.[1];
};

Deno.test("unreadVariables: a misspelt name gets a suggestion, and its value is not shown", () => {
  deq(unreadVariables({ RELAY_SECERT: "hidden", RELAY_SECRET: "hidden", HOME: "/root" }), [
    '"RELAY_SECERT" is not a variable that Relay reads: did you mean RELAY_SECRET?',
  ]);
  deq(
    ["RELAY_PROT", "RELAY_KVV", "relay_host", "RELAY_TLS_CERT_FILE", "RELAY_SECRET_OLDER"]
      .map(meant),
    ["RELAY_PORT", "RELAY_KV", "RELAY_HOST", "RELAY_TLS_CERT", "RELAY_SECRET_OLD"],
  );
  deq(unreadVariables({ RELAY_TRUSTED_PROXIES: "hidden" }), [
    '"RELAY_TRUSTED_PROXIES" is not a variable that Relay reads: `relay serve --help` lists them',
  ]);
});

Deno.test("unreadVariables: variables of commands, tests and containers give no warning", () => {
  const names = [
    ...Object.keys(ENVIRONMENT),
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

Deno.test("readSettings: the secrets of issuers' clients are JSON, and neither a refusal nor a list shows them", () => {
  const read = (text: string) => readSettings({ RELAY_ISSUER_SECRETS: text }, () => "", false);
  const { given, variables } = read('{"console":"hidden"}');
  eq(given.RELAY_ISSUER_SECRETS.get("console"), "hidden");
  eq(JSON.stringify(variables).includes("hidden"), false);
  eq(readSettings({}, () => "", false).given.RELAY_ISSUER_SECRETS.size, 0);
  for (const wrong of ["hidden", '["hidden"]', '{"console":{"hidden":1}}', '{"console":""}']) {
    throws(() => read(wrong), (error: Error) => {
      match(error.message, /^RELAY_ISSUER_SECRETS is not JSON such as \{/);
      return !error.message.includes("hidden") && error.cause === undefined;
    });
  }
});

Deno.test("readSettings: the address of a service named relay is not a port, and gives a warning", () => {
  const env = { RELAY_PORT: "tcp://10.0.0.1:80" };
  const { port, variables } = readSettings(env, () => "", false);
  deq([port, variables.filter(({ given }) => given)], [9081, []]);
  const [said] = unreadVariables(env);
  match(
    said!,
    /^RELAY_PORT is ignored: Kubernetes set it to the address of a service named relay\. /,
  );
});

Deno.test("ENVIRONMENT, Config: docs/configuration.md is what deno task docs writes", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/configuration.md", import.meta.url));
  eq(page, withSettingsTables(page));
});
