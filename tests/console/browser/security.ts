import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { CHROMIUM, ConsoleTest } from "./harness.ts";

const ignore = CHROMIUM === null;

/** A page of another server that sends requests with the browser's cookies, in every way that a page can. */
const hostile = (relay: string) =>
  `<!doctype html><title>elsewhere</title><script type="module">
const ways = {
  form: () => new Promise((done) => {
    const form = Object.assign(document.createElement("form"), {
      method: "POST", action: "${relay}/api/v1/api-keys", enctype: "text/plain", target: "frame",
    });
    form.innerHTML = '<input name=\\'{"name":"stolen","scopes":["agents:read"],"x":"\\' value=\\'"}\\'>';
    document.body.append(form);
    document.querySelector("iframe").onload = done;
    form.submit();
  }),
  fetch: () => fetch("${relay}/api/v1/api-keys", {
    method: "POST", credentials: "include", mode: "no-cors", body: '{"name":"stolen"}',
  }),
  json: () => fetch("${relay}/api/v1/api-keys", {
    method: "POST", credentials: "include", headers: { "content-type": "application/json" },
    body: '{"name":"stolen","scopes":["agents:read"]}',
  }),
  remove: () => fetch("${relay}/api/v1/console-session", { method: "DELETE", credentials: "include" }),
  exec: () => fetch("${relay}/api/exec/web-1?command=id", { credentials: "include", mode: "no-cors" }),
  read: () => fetch("${relay}/api/account/info", { credentials: "include" }).then((r) => r.text()),
  socket: () => new Promise((done, fail) => {
    const socket = new WebSocket("${relay.replace("http", "ws")}/ws");
    socket.onmessage = () => done("read the stream");
    socket.onerror = () => fail(new Error("refused"));
  }),
};
const results = {};
for (const [name, way] of Object.entries(ways)) {
  results[name] = await way().then((value) => typeof value === "string" ? value : "sent", () => "refused");
}
document.title = JSON.stringify(results);
</script><iframe name="frame"></iframe>`;

Deno.test({
  name: "security: a page of another server or port changes and reads nothing with the cookie",
  ignore,
}, async () => {
  await using here = await ConsoleTest.start();
  const owner = await here.signUp();
  const person = await here.person();
  await person.signIn();
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () => new Response(hostile(here.url), { headers: { "content-type": "text/html" } }),
  );
  try {
    for (const host of ["127.0.0.1", "localhost"]) {
      const page = await person.context.newPage();
      await page.goto(`http://${host}:${server.addr.port}/`);
      await page.waitForFunction("document.title.startsWith('{')");
      const results = JSON.parse(await page.title());
      deq([host, results.json, results.remove, results.read, results.socket], [
        host,
        "refused",
        "refused",
        "refused",
        "refused",
      ]);
    }
  } finally {
    await server.shutdown();
  }
  const { api_keys: keys } = (await owner<{ api_keys: unknown[] }>("GET", "/api/v1/api-keys")).body;
  deq(keys, []);
  const { commands } = (await owner<{ commands: unknown[] }>("GET", "/api/v1/commands")).body;
  deq(commands, []);
  // The session is still there.
  const page = await person.page();
  await page.goto(`${here.url}/console`);
  await page.locator("header.top").waitFor();
});

Deno.test({
  name: "security: the console cannot be framed, and its policy allows no inline code",
  ignore,
}, async () => {
  await using here = await ConsoleTest.start();
  const person = await here.person();
  const page = await person.page();
  const response = (await page.goto(`${here.url}/console`))!;
  const policy = response.headers()["content-security-policy"]!;
  eq(/unsafe|\*|https?:/.test(policy), false, policy);
  const blocked = await page.evaluate(`new Promise((resolve) => {
    document.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => resolve(effectiveDirective));
    const script = document.createElement("script");
    script.textContent = "globalThis.ran = true";
    document.body.append(script);
  })`);
  deq([blocked, await page.evaluate("globalThis.ran")], ["script-src-elem", undefined]);
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () =>
      new Response(`<iframe src="${here.url}/console"></iframe>`, {
        headers: { "content-type": "text/html" },
      }),
  );
  try {
    const outside = await person.context.newPage();
    await outside.goto(`http://127.0.0.1:${server.addr.port}/`);
    const frame = await (await outside.locator("iframe").elementHandle())!.contentFrame();
    eq(await frame!.locator("#app").count(), 0);
  } finally {
    await server.shutdown();
  }
});
