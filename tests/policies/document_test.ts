import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { diffDocuments } from "../../core/policies/documents/diff.ts";
import { PolicyDocument, policyJsonSchema } from "../../core/policies/documents/document.ts";
import { mergePolicies } from "../../core/policies/documents/merge.ts";
import { readPolicyFile } from "../../core/policies/documents/read_document.ts";
import { addressOf } from "../../core/policies/git/address.ts";
import { inspectCommand } from "../../core/shield/shield.ts";
import { World } from "../support/world.ts";

const read = (text: string, path = "policies/a.yaml") => readPolicyFile({ path, text });
const documentOf = async (text: string, path?: string) => {
  const { document, issues } = await read(text, path);
  deq(issues, []);
  return document!;
};
const issuesOf = async (text: string) =>
  (await read(text)).issues.map(({ line, column, path, message }) => [line, column, path, message]);

Deno.test("docs/policy.md: the tests of its example pass, and it explains every field", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/policy.md", import.meta.url));
  const [, example] = /```yaml\n([\s\S]*?)```/.exec(page)!;
  eq((await documentOf(example!)).name, "production");
  for (const name of Object.keys(PolicyDocument.shape)) {
    ok(page.includes(`\`${name}`), `${name} is not explained`);
  }
  const { properties: { rules } } = policyJsonSchema() as {
    properties: { rules: { items: { properties: { match: { properties: object } } } } };
  };
  for (const name of Object.keys(rules.items.properties.match.properties)) {
    ok(page.includes(`\`${name}\``), `match.${name} is not explained`);
  }
});

Deno.test("schemas/policy.json: is a public JSON Schema with every field", async () => {
  await using world = await World.open();
  const answer = await world.call("GET", "/schemas/policy.json");
  eq(answer.headers.get("content-type"), "application/schema+json");
  const schema = JSON.parse(answer.text);
  deq(schema, JSON.parse(JSON.stringify(policyJsonSchema())));
  eq(schema.additionalProperties, false);
  deq(Object.keys(schema.properties).sort(), Object.keys(PolicyDocument.shape).sort());
});

Deno.test("readPolicyFile: gives the position of every error", async () => {
  const unknown = "is not a field of a policy";
  deq(await issuesOf("nme: a\nmodes: off\n"), [[1, 1, "nme", unknown], [2, 1, "modes", unknown]]);
  deq(await issuesOf("thresholds: { approve: 80, deny: 60 }\n"), [
    [1, 24, "thresholds.approve", "must not be above `deny`"],
  ]);
  deq(await issuesOf("rules:\n- id: a\n  match: {}\n"), [
    [2, 3, "rules.0.verdict", 'Invalid option: expected one of "allow"|"approve"|"deny"'],
  ]);
  deq(await issuesOf('{\n  "mode": "off",\n  "mode": "observe"\n}'), [
    [3, 3, "", "The key mode is repeated."],
  ]);
  deq(await issuesOf("name: a\n---\nname: b\n"), [[
    2,
    1,
    "",
    "A file must hold exactly one policy.",
  ]]);
  deq(await issuesOf("name: !secret a\n"), [[1, 7, "", "Unresolved tag: !secret"]]);
  eq((await read("[".repeat(60_000))).issues.length > 0, true);
  eq((await read(`a: &a [1]\nb: [${"*a, ".repeat(9)}*a]\n`)).issues.length, 10);
});

Deno.test("readPolicyFile: takes the name from the file, and reads JSON", async () => {
  eq((await documentOf("rules: []", "policies/Web Servers.yml")).name, "web-servers");
  eq((await documentOf('{\n\t"name": "b",\n\t"rules": []\n}', "x.json")).name, "b");
  eq((await read("rules: []", "policies/_.yaml")).issues[0]?.path, "name");
});

Deno.test("readPolicyFile: runs tests in their context, and reports a failed one", async () => {
  const rules = "rules:\n- { id: a, match: { roles: [admin], users: [u1], labels: { env: prod }, " +
    'hours: { from: "08:00", to: "09:00" } }, verdict: deny }\n';
  const test = (more: string, expect: string) =>
    `- { command: uptime, expect: ${expect}${more} }\n`;
  const whole = ', roles: [admin], user: u1, labels: { env: prod }, at: "2026-01-31T08:30:00Z"';
  await documentOf(
    `${rules}tests:\n${test(whole, "deny")}${test("", "allow")}${
      test(whole.replace("08:30", "09:30"), "allow")
    }`,
  );
  const failed = await issuesOf(`${rules}tests:\n${test(whole, "allow")}`);
  deq(failed.map(([line, column, path]) => [line, column, path]), [[4, 3, "tests.0"]]);
  const alone = (expect: string) =>
    `mode: enforce\ntests:\n- { command: rm -rf /, expect: ${expect} }\n`;
  await documentOf(alone("deny"));
  deq((await issuesOf(alone("allow"))).map(([line, , path]) => [line, path]), [[3, "tests.0"]]);
});

Deno.test("mergePolicies: the strictest setting applies, and every list of tools must allow a program", async () => {
  const documents = await Promise.all([
    "name: a\nmode: observe\nthresholds: { approve: 20, deny: 90 }\ntools: { allow: [cat, ls] }\n",
    "name: b\nmode: enforce\nthresholds: { approve: 40, deny: 60 }\ntools: { allow: [cat, id] }\n" +
    "output: { retention_days: 9 }\n",
    "name: c\nmode: off\noutput: { retention_days: 3 }\ndisabled_rules: [filesystem.delete]\n"
      .replace("disabled_rules: [filesystem.delete]\n", ""),
  ].map((text) => documentOf(text)));
  const { policy, mode, retentionDays } = mergePolicies(documents, null);
  deq([mode, retentionDays], ["enforce", 3]);
  deq(policy?.thresholds, { approve: 20, deny: 60 });
  const verdict = (command: string) => inspectCommand(command, { policy }).verdict;
  deq(["cat x", "ls", "id", "cat x; id", "$X y"].map(verdict), [
    "allow",
    "deny",
    "deny",
    "deny",
    "deny",
  ]);
  deq(mergePolicies([], null), { policy: null, mode: null, retentionDays: null });
});

Deno.test("diffDocuments: matches rules by id, and reports a changed order", () => {
  const rule = (id: string, verdict = "deny") => ({ id, match: {}, verdict });
  const before = { name: "a", rules: [rule("x"), rule("y"), rule("z")], mode: "off" };
  const after = { name: "a", rules: [rule("z"), rule("x", "allow"), rule("w")], tools: {} };
  deq(diffDocuments(before, after), [
    { path: "mode", kind: "removed", before: "off" },
    { path: "rules.x.verdict", kind: "changed", before: "deny", after: "allow" },
    { path: "rules.y", kind: "removed", before: rule("y") },
    { path: "rules.w", kind: "added", after: rule("w") },
    { path: "rules", kind: "moved", before: ["x", "z"], after: ["z", "x"] },
    { path: "tools", kind: "added", after: {} },
  ]);
  deq(diffDocuments(before, structuredClone(before)), []);
  const labels = { env: "lab", constructor: "x" };
  deq(diffDocuments({ labels: { env: "lab" } }, { labels }), [
    { path: "labels.constructor", kind: "added", after: "x" },
  ]);
});

Deno.test("addressOf: gives the same address for every spelling", () => {
  for (
    const text of [
      "https://git.example.com/acme/policies.git",
      "https://git.example.com/acme/policies/",
      "https://GIT.example.com:443//acme/policies",
      "https://git.example.com./acme/policies",
      "https://git.example.com/acme/%70olicies",
      "https://git.example.com/acme/policies.git.git",
      "ssh://git@git.example.com/acme/policies.git",
      "git@git.example.com:acme/policies.git",
    ]
  ) eq(addressOf(text), "git.example.com/acme/policies", text);
  eq(
    addressOf("https://git.example.com.:8443/a%2fb/c%2Dd/é"),
    "git.example.com:8443/a%2Fb/c-d/%C3%A9",
  );
  for (const text of ["", "acme/policies", "https://git.example.com/", "file:///x/y"]) {
    eq(addressOf(text), null, text);
  }
});
