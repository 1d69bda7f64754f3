import process from "node:process";
import { setImmediate } from "node:timers";
import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { readPolicyFile } from "../../core/policies/documents/read_document.ts";
import { World } from "../support/world.ts";
import { forbidding, withRepository } from "./git_fixtures.ts";

const read = (text: string) => readPolicyFile({ path: "a.yaml", text });

Deno.test("readPolicyFile: refuses a directive for another version of YAML", async () => {
  const { issues } = await read(`%YAML 1.1\n---\n${forbidding("nmap")}`);
  deq(issues.map(({ line, column }) => [line, column]), [[1, 1]]);
  ok(issues[0]?.message.includes("directive"), issues[0]?.message);
});

Deno.test("readPolicyFile: treats names of inherited object members as ordinary keys", async () => {
  deq(
    (await read("agents:\n  labels:\n    __proto__: web\n")).issues.map((
      { line, column, message },
    ) => [
      line,
      column,
      message,
    ]),
    [[3, 5, "The key __proto__ is not allowed."]],
  );
  for (const name of ["constructor", "toString"]) {
    const top = await read(`${name}: { rules: [] }\n`);
    deq(top.issues.map(({ path, line }) => [path, line]), [[name, 1]], name);
    const nested = await read(`rules:\n  - { id: a, match: {}, verdict: deny, ${name}: 1 }\n`);
    deq(nested.issues.map(({ path }) => path), [`rules.0.${name}`], name);
    // With a lost condition the policy would apply to every agent.
    const label = await read(`agents:\n  labels: { ${name}: web }\n`);
    const kept = Object.keys(label.document?.agents?.labels ?? {});
    ok(label.issues.length > 0 || kept.includes(name), `the label ${name} got lost`);
  }
});

Deno.test("readPolicyFile: refuses tags for values that JSON does not have", async () => {
  for (const value of ["!!binary aGk=", "!!set { a }", "!!omap [ a: 1 ]", "!!js/function x"]) {
    ok((await read(`description: ${value}\n`)).issues.length > 0, value);
  }
});

Deno.test("readPolicyFile: refuses lists and maps as keys, and logs nothing from the file", async () => {
  const warned: Error[] = [];
  const warn = (warning: Error) => void warned.push(warning);
  process.on("warning", warn);
  for (const key of ["[a, b]", "{ a: b }"]) {
    const { issues } = await read(`rules: []\nagents:\n  labels:\n    ? ${key}\n    : web\n`);
    deq(issues.map(({ line, column, message }) => [line, column, message]), [
      [4, 7, "A key must be a string, not a list or a map."],
    ]);
  }
  await new Promise((resolve) => setImmediate(resolve));
  process.off("warning", warn);
  deq(warned, []);
});

Deno.test("apply: refuses invalid UTF-8 with its position, so that no rule loses a character unnoticed", async () => {
  await using world = await World.open();
  const { host, apply, get } = await withRepository(world);
  const text = "rules:\n  - { id: a, match: { commands: [löschen] }, verdict: deny }\n";
  const latin1 = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const utf16 = new Uint8Array(Uint16Array.from(`\ufeff${text}`, (c) => c.charCodeAt(0)).buffer);
  for (const [bytes, line, column] of [[latin1, 2, 35], [utf16, 1, 1]] as const) {
    await host.commitTree(async ({ file, folder }) => {
      const policy = await file(bytes);
      return await folder([["policies", "040000", await folder([["a.yaml", "100644", policy]])]]);
    });
    const answer = await apply();
    eq(answer.status, 400, answer.text);
    const [issue, ...more] = answer.body.error.details.issues;
    deq([issue.file, issue.line, issue.column, more], ["policies/a.yaml", line, column, []]);
  }
  deq((await get("policies")).body.policies, []);
  // A byte order mark is not part of the text.
  await host.commit({ "policies/a.yaml": `\ufeff${text}` });
  const { status, body } = await apply();
  deq([status, body.changed], [200, true]);
});

Deno.test("apply: repeats nothing from the host's answer", async () => {
  await using world = await World.open();
  const { host, apply, get, repositoryId } = await withRepository(world, { sync_seconds: 60 });
  const type = "application/x-git-upload-pack-advertisement";
  const secret = "a page of the inner network";
  const line = (text: string) => `${(text.length + 4).toString(16).padStart(4, "0")}${text}`;
  for (
    const text of [
      secret,
      line(secret),
      line(`# service=${secret}\n`),
      `${line("# service=git-upload-pack\n")}0000${line(`ERR ${secret}\n`)}0000`,
      `${line("# service=git-upload-pack\n")}0000${line(`${secret}\0${secret}\n`)}0000`,
      `${line("version 2\n")}${line(secret)}0000`,
    ]
  ) {
    host.broken = {
      status: 200,
      headers: { "content-type": type },
      bytes: new TextEncoder().encode(text),
    };
    const answer = await apply();
    ok([400, 503].includes(answer.status), answer.text);
    ok(!answer.text.includes("inner network"), answer.text);
    await world.advance(3 * 60_000);
    const shown = await get(`repos/${repositoryId}`);
    ok(shown.body.last_sync.error !== null);
    ok(!shown.text.includes("inner network"), shown.text);
  }
  eq((await get("policies")).body.policies.length, 0);
});
