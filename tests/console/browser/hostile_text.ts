import { deepStrictEqual as deq, ok } from "node:assert/strict";
import type { Page } from "playwright-core";
import { type Client, expectStatus } from "../../clients/status_client.ts";
import { NO_LIMITS } from "../../support/no_limits.ts";
import { CHROMIUM, ConsoleTest, OWNER } from "./harness.ts";

const ignore = CHROMIUM === null;

/** What runs, loads or draws something if it is ever taken for markup, a script, a link or a terminal's control. */
const PAYLOADS = [
  "<script>pwned()</script>",
  "<img src=x onerror=pwned()>",
  "<svg onload=pwned()>",
  "<x-pwned>",
  '"><x-pwned onmouseover="pwned()">',
  "'><iframe srcdoc='<script>parent.pwned()</script>'></iframe>",
  "</title></style></textarea><x-pwned>",
  "<!--<script>pwned()//-->",
  "<a href='javascript:pwned()'>go</a>",
  "javascript:pwned()",
  "data:text/html,<script>pwned()</script>",
  "${pwned()}",
  "{{constructor.constructor('pwned()')()}}",
  "<${Component} />",
  "`;pwned();`",
  '{"__html":"<x-pwned>","dangerouslySetInnerHTML":{"__html":"<x-pwned>"}}',
  "\u202e)(denwp\u202c",
  "\u200b\u2066hidden\u2069\u00ad",
  "\u001b[2J\u001b]0;title\u0007\u001b[31mred",
  "&lt;x-pwned&gt;&#x3c;script&#x3e;",
];
const WRAPPERS: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => text.toUpperCase(),
  (text) => `${text}${text}`,
  (text) => `a\n${text}\nb`,
  (text) => `\t${text} `,
  (text) => `x'${text}'`,
  (text) => `x"${text}"`,
  (text) => `${"long ".repeat(60)}${text}`,
  (text) => text.split("").join("\u200d"),
  (text) => encodeURIComponent(text),
];
const CORPUS = PAYLOADS.flatMap((text) => WRAPPERS.map((wrap) => wrap(text)));

/** Sends each string in the fields that other people and machines write. Refused values are the relay's business. */
async function fill(
  owner: Client,
): Promise<{ commands: string[]; approvals: string[]; keys: string[] }> {
  const commands: string[] = [], approvals: string[] = [], keys: string[] = [];
  const alerts = CORPUS.map((text, n) => ({
    name: text,
    fingerprint: `f${n}`,
    severity: "critical",
    state: "firing",
    reason: text,
    labels: { of: text },
    annotations: { summary: text },
  }));
  for (let n = 0; n < alerts.length; n += 50) {
    const body = { source: `s${n}`, alerts: alerts.slice(n, n + 50) };
    const answer = await owner<{ accepted: number }>("POST", "/api/shield/ingest", body);
    expectStatus(answer, 200, "reporting alerts");
  }
  for (const text of CORPUS) {
    const quoted = `'${text.replaceAll("'", `'\\''`)}'`;
    const ran = await owner<{ command_id: string }>("POST", "/api/v1/agents/web-1/commands", {
      command: `printf %s ${quoted}; printf %s ${quoted} >&2`,
    });
    if (ran.status < 300) commands.push(ran.body.command_id);
    const key = await owner<{ id: string }>("POST", "/api/v1/api-keys", {
      name: text,
      scopes: ["agents:read"],
    });
    if (key.status === 201) keys.push(key.body.id);
    await owner("POST", "/api/v1/webhooks", {
      name: text,
      url: "http://127.0.0.1:9/hook",
      secret: "0123456789abcdef",
      events: ["agent_created"],
      headers: { "x-text": text },
    });
    await owner("PATCH", "/api/v1/agents/web-1", { labels: { of: text.slice(0, 60) } });
  }
  for (const text of CORPUS.filter((_, n) => n % 10 === 0)) {
    const held = await owner<{ approval_id: string }>("POST", "/api/v1/agents/web-1/commands", {
      command: `chmod -R 777 /none '${text.replaceAll("'", "")}'`,
    });
    if (held.status === 202) approvals.push(held.body.approval_id);
  }
  for (const id of approvals.slice(0, 5)) {
    await owner("POST", `/api/shield/reject/${id}`, { reason: PAYLOADS.join(" ") });
  }
  return { commands, approvals, keys };
}

const RAN = `globalThis.ran === true || document.title.includes("title") ||
  document.querySelector("x-pwned, iframe, #main script, #main img, #main [onload], #main [onerror], #main [onmouseover], a[href^='javascript' i], a[href^='data' i]") !== null`;

async function mustBeText(page: Page, where: string): Promise<void> {
  await page.locator(".loading, .starting").first().waitFor({ state: "detached" });
  deq([where, await page.evaluate(RAN)], [where, false]);
  const raw = await page.evaluate<string[]>(
    `[...document.querySelector("#main").innerText.matchAll(/[\\u001b\\u202a-\\u202e\\u2066-\\u2069\\u200b]/g)].map(String)`,
  );
  deq([where, raw], [where, []]);
}

Deno.test({
  name: "security: 200 hostile strings in each field of others are shown as text, on every screen",
  ignore,
}, async () => {
  await using here = await ConsoleTest.start({
    RELAY_CONFIG: JSON.stringify({ ...NO_LIMITS, outbound: { allow_private_targets: true } }),
  });
  const owner = await here.signUp();
  await here.agent(owner, "web-1");
  const { commands, approvals, keys } = await fill(owner);
  ok(commands.length > 100 && approvals.length > 10 && keys.length > 50);
  console.log(`${CORPUS.length} strings: ${commands.length} commands, ${keys.length} keys`);
  const person = await here.person();
  await person.context.addInitScript("globalThis.pwned = () => globalThis.ran = true");
  const page = await person.signIn(OWNER, "/");
  const some = (ids: readonly string[], path: string) =>
    ids.filter((_, n) => n % 12 === 0).map((id) => `${path}/${id}`);
  const addresses = [
    "/",
    "/agents",
    "/agents/web-1",
    "/commands",
    "/approvals?status=all",
    "/alerts",
    "/audit",
    "/keys",
    "/webhooks",
    ...some(commands, "/commands"),
    ...approvals.slice(0, 8).map((id) => `/approvals/${id}`),
    ...some(keys, "/keys"),
  ];
  for (const address of addresses) {
    await page.goto(`${here.url}/console${address}`);
    await page.locator("main h1").first().waitFor();
    await mustBeText(page, address);
    await page.evaluate("scrollTo(0, document.body.scrollHeight)");
    await mustBeText(page, `${address}, its end`);
  }
  deq(person.complaints, []);
});
