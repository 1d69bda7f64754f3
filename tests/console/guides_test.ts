import { deepStrictEqual as deq, match, ok, strictEqual as eq } from "node:assert/strict";
import { serveGuides } from "../../console/guides.ts";
import { PAGES, PICTURES } from "../../console/guides/files.ts";
import { makeGuides } from "../../console/guides/guides.ts";
import { readGuide } from "../../console/guides/markdown.ts";
import { EVERYWHERE } from "../../core/cli/remote/command.ts";
import { REMOTE_COMMANDS } from "../../core/cli/remote/table.ts";
import { runProgram } from "../support/processes.ts";
import { routes } from "../../routes/index.ts";
import { guideFiles } from "./guide_files.ts";

const serve = serveGuides();
const get = async (path: string, headers: Record<string, string> = {}, method = "GET") =>
  (await serve(new Request(`http://relay.test${path}`, { method, headers })))!;
const textOf = async (path: string) => await (await get(path)).text();
const NAMES = Object.keys(PAGES);
const places = { pages: PAGES, pictures: PICTURES, base: "/guides/assets/0/" };
const rendered = (source: string) => readGuide("x", `# X\n\n${source}`, places).content.markup;
const unescaped = (text: string) =>
  text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&#39;", "'")
    .replaceAll("&quot;", '"').replaceAll("&amp;", "&");

Deno.test("guides: console/guides/files.ts names every page; `deno task docs` writes it", async () => {
  const words = (text: string) => text.replaceAll(/\s+/g, "");
  eq(words(await Deno.readTextFile("console/guides/files.ts")), words(await guideFiles()));
});

Deno.test("guides: every page answers with its title, under a strict policy and without scripts", async () => {
  ok(NAMES.length > 25);
  for (const name of NAMES) {
    const response = await get(`/guides/${name}`);
    deq([response.status, response.headers.get("content-type")], [200, "text/html; charset=utf-8"]);
    const policy = response.headers.get("content-security-policy")!;
    match(policy, /^default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'/);
    ok(!policy.includes("unsafe") && !policy.includes("script-src"));
    const text = await response.text();
    const [, title] = /^# (.*)$/m.exec(PAGES[name]!)!;
    ok(
      unescaped(text).includes(`<title>${title!.replaceAll("`", "")} · Relay guides</title>`),
      name,
    );
    ok(!/<script|\sstyle=|\son\w+=/.test(text), name);
  }
});

Deno.test("guides: the list has every guide in the chapters of docs/README.md", async () => {
  const { chapters } = makeGuides();
  deq(chapters[0]!.title, "Start here");
  deq(chapters.flatMap(({ guides }) => guides.map(({ name }) => name)), NAMES);
  const text = await textOf("/guides");
  for (const { title } of chapters) ok(text.includes(`<h2>${title}</h2>`), title);
  eq(NAMES.includes("architecture"), false);
});

Deno.test("guides: no link leads nowhere, also to no heading, and every picture is there", async () => {
  const pages = new Map<string, string>();
  for (const path of ["/guides", ...NAMES.map((name) => `/guides/${name}`)]) {
    pages.set(path, await textOf(path));
  }
  const known = [...routes.map(({ path }) => path), "/console"];
  const dead: string[] = [];
  let count = 0;
  for (const [page, text] of pages) {
    for (const [, href] of text.matchAll(/\s(?:href|src|srcset)="([^"]*)"/g)) {
      if (/^https?:/.test(href!)) continue;
      count++;
      const [path, anchor] = href!.split("#");
      const target = path === "" ? page : path!;
      const isThere = target.startsWith("/guides/assets/")
        ? (await get(target)).status === 200
        : anchor !== undefined
        ? pages.get(target)?.includes(` id="${anchor}"`)
        : pages.has(target) || known.includes(target);
      if (!isThere) dead.push(`${page}: ${href}`);
    }
  }
  ok(count > 1_000);
  deq(dead, []);
});

Deno.test("guides: HTML, scripts and other schemes in Markdown stay text", () => {
  const source = `<script>alert(1)</script>

<img src="x" onerror="alert(1)"> and <b onclick=alert(1)>bold</b> <!-- note -->

[a](javascript:alert(1)) [b](data:text/html,x) [c](//evil.test) <javascript:alert(1)> [d](JaVaScRiPt&#58;alert(1))

![<script>](javascript:alert(1)) ![x](https://evil.test/x.png "1\\" onload=\\"x") ![y](pictures/../x-light.png)

<picture><source srcset="x" onerror="y"><img src="pictures/run-light.png" alt="x] <b>" width="9"></picture>

\`\`\`"><script>x
</code><script>
\`\`\`

## <i>x</i> " onclick="y

| <s>a</s> | b |
| -- | -- |
| [x](approvals.md "\\"><script>") | <script> |
`;
  const html = rendered(source);
  const tags = new Set([...html.matchAll(/<(\w+)/g)].map(([, tag]) => tag));
  const allowed = "h1 h2 a p em pre code picture source img table thead tbody tr th td".split(" ");
  deq([...tags].filter((tag) => !allowed.includes(tag!)), []);
  ok(!/<[^>]*\s(on\w+|style)\s*=/.test(html.replaceAll(/"[^"]*"/g, '""')), html);
  const targets = [...html.matchAll(/\s(?:href|src|srcset)="([^"]*)"/g)].map(([, to]) => to!);
  deq(
    targets.filter((to) =>
      !/^(#|\/guides\/(approvals|assets\/0\/run-(dark|light)\.png)$)/.test(to)
    ),
    [],
  );
  match(html, /&lt;script&gt;alert\(1\)&lt;\/script&gt;/);
});

Deno.test("guides: links between pages lead to guides, and those to other files stay text", () => {
  match(
    rendered("[a](approvals.md#if-you-are-alone)"),
    /href="\/guides\/approvals#if-you-are-alone"/,
  );
  match(rendered("[a](openapi.json) [b](README.md)"), /href="\/openapi.json".*href="\/guides"/);
  eq(
    rendered("[a](../core/shield/README.md) [b](store.md) [c](toString.md)").match(/<a href/g),
    null,
  );
  match(rendered("## Two `b`\n\n## Two `b`"), /id="two-b"[^]*id="two-b-1"/);
});

Deno.test("guides: the search finds a rare word of every page", async () => {
  const words = new Map(
    NAMES.map((name) => [name, new Set(PAGES[name]!.toLowerCase().match(/[a-z]{5,}/g))]),
  );
  for (const [name, own] of words) {
    const word = [...own].find((one) =>
      NAMES.every((other) => other === name || !words.get(other)!.has(one)) &&
      // Words of addresses of links are not shown, so they are not found either.
      !new RegExp(`\\]\\([^)]*${one}|<[^>]*${one}`, "i").test(PAGES[name]!)
    )!;
    const text = await textOf(`/guides?q=${word}`);
    ok(text.includes(`<li><a href="/guides/${name}#`), `${name}: ${word}`);
  }
});

Deno.test("guides: the search needs all words, puts titles first, and shows the query as text", async () => {
  match(
    await textOf("/guides?q=alone%20APPROVALS"),
    /class="found"><li><a href="\/guides\/approvals#if-you-are-alone"/,
  );
  match(await textOf("/guides?q=approvals%20qqqqq"), /No section with/);
  const text = await textOf(`/guides?q=${encodeURIComponent('"><script>alert(1)</script>')}`);
  ok(!text.includes("<script") && text.includes("&quot;&gt;&lt;script&gt;"));
  ok((await textOf(`/guides?q=${"x".repeat(5_000)}`)).length < 30_000);
  ok((await textOf("/guides?q=a")).length < 60_000);
  const eight = "approvals approvals a e i o r s l";
  match(await textOf(`/guides?q=${eight} a`.replaceAll(" ", "%20")), /class="found"><li>/);
  match(
    await textOf(`/guides?q=${eight} qqqqq`.replaceAll(" ", "%20")),
    /Only the first 8 words count[^]*class="found"><li>/,
  );
  eq((await get("/guides?q=%ED%A0%80")).status, 200);
  eq(await textOf("/guides?q=%20"), await textOf("/guides"));
});

Deno.test("guides: an unknown page is a 404 with a link to the list", async () => {
  for (
    const path of ["no-such", "architecture", "", "toString", "approvals/x", "assets/0/style.css"]
  ) {
    const response = await get(`/guides/${path}`);
    eq(response.status, 404, path);
    match(await response.text(), /No such guide[^]*<a href="\/guides">All guides/);
  }
  eq((await get("/guides/approvals", {}, "POST")).status, 405);
  eq(serve(new Request("http://relay.test/guidesx")), null);
});

Deno.test("guides: a page is compressed and answers 304, and pictures are kept for ever", async () => {
  const page = await get("/guides/approvals", { "accept-encoding": "br" });
  eq(page.headers.get("content-encoding"), "br");
  const etag = page.headers.get("etag")!;
  eq((await get("/guides/approvals", { "if-none-match": etag })).status, 304);
  const [, picture] = /src="([^"]+run-light\.png)"/.exec(await textOf("/guides/tour"))!;
  const response = await get(picture!, { "accept-encoding": "br" });
  deq(
    ["content-type", "content-encoding", "cache-control"].map((name) => response.headers.get(name)),
    ["image/png", null, "public, max-age=31536000, immutable"],
  );
  deq(await response.bytes(), await Deno.readFile("docs/pictures/run-light.png"));
});

Deno.test("guides: a page is rendered once", () => {
  const guides = makeGuides();
  eq(guides.page("approvals"), guides.page("approvals"));
  eq(guides.list(), guides.list());
});

Deno.test("guides: a runtime that cannot load the files says so", async () => {
  const broken = serveGuides(() => Promise.reject(new Error("bytes imports are not supported")));
  const response = (await broken(new Request("http://relay.test/guides")))!;
  eq(response.status, 503);
  match(await response.text(), /bytes imports are not supported[^]*The API works/);
});

Deno.test("getting-started.md: every command exists, with its options", async () => {
  const lines = [...PAGES["getting-started"]!.matchAll(/^```sh\n([^]*?)^```/gm)]
    .flatMap(([, text]) => text!.trim().split("\n")).flatMap((line) => line.split(" && "));
  ok(lines.length >= 8);
  for (const line of lines) {
    const [program, ...words] = line.split(" -- ")[0]!.split(" ");
    eq(program, "relay", line);
    const given = words.filter((word) => word.startsWith("-")).map((word) => word.slice(2));
    const command = REMOTE_COMMANDS.find(({ name }) =>
      words.slice(0, name.split(" ").length).join(" ") === name
    );
    if (command !== undefined) {
      const options = [...command.options, ...EVERYWHERE].map(({ name }) => name);
      deq(given.filter((name) => !options.includes(name)), [], line);
      continue;
    }
    const help = await runProgram(Deno.execPath(), ["run", "-A", "main.ts", words[0]!, "--help"]);
    ok(help.success, line);
    ok(words.slice(0, 2).every((word) => /^[<-]/.test(word) || help.text.includes(word)), line);
    deq(given.filter((name) => !help.text.includes(`--${name}`)), [], line);
  }
});
