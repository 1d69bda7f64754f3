import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { createHmac } from "node:crypto";
import { forbidding, withRepository } from "./git_fixtures.ts";
import { longestParsed } from "../support/longest_parsed.ts";
import { World } from "../support/world.ts";
import { BODIES, type Headers, push, SECRET, SENDERS } from "./push_fixtures.ts";

for (const { name, provider, secret = SECRET, body, headers } of SENDERS) {
  Deno.test(`webhook: a large push of ${name} is parsed only once its signature over all bytes is right`, async () => {
    await using world = await World.open();
    const git = await withRepository(world, { provider, webhook_secret: secret });
    await git.host.commit({ "a.yaml": forbidding("nmap") });
    const text = JSON.stringify({ ...body as object, commits: ["é".repeat(400_000)] });
    const right = headers(text, "d1", world.clock.nowMs);
    const wrong = Object.fromEntries(
      Object.entries(right).map(([key, value]) => [key, /event|delivery/.test(key) ? value : "x"]),
    );
    const unknown = text.replaceAll("acme/policies", "acme/none");
    const refused: [string, Headers][] = [[text, {}], [text, wrong], [unknown, right]];
    if (!Object.hasOwn(right, "x-gitlab-token")) refused.push([text.replace("é", "è"), right]);
    const longest = await longestParsed(async () => {
      for (const [sent, shown] of refused) {
        const { answer, asked } = await push(world, git, sent, shown);
        deq([answer.status, answer.body.error.code, asked], [413, "PAYLOAD_TOO_LARGE", 0]);
        delete answer.body.error.details.request_id;
        deq(answer.body.error.details, { limit_bytes: 16 * 1024 });
      }
    });
    ok(longest <= 1024, `${longest} characters of a body without a right signature were parsed`);
    const { answer, asked } = await push(world, git, text, right);
    eq(answer.status, 202);
    ok(asked > 0, "the push was not obeyed");
  });
}

Deno.test("webhook: a large push needs the secret of a repository, whatever header it has", async () => {
  await using world = await World.open();
  const git = await withRepository(world);
  const text = JSON.stringify({ ...BODIES.github, commits: ["x".repeat(20_000)] });
  for (const key of ["", SECRET, "null", "undefined"]) {
    const mac = createHmac("sha256", key).update(text).digest("hex");
    const { answer, asked } = await push(world, git, text, {
      "x-github-event": "push",
      "x-hub-signature-256": `sha256=${mac}`,
    });
    deq([answer.status, asked], [413, 0], key);
  }
});

Deno.test("webhook: a large push may name its repository by any address field that a small one may", async () => {
  for (const field of ["clone_url", "html_url", "web_url", "http_url", "url"]) {
    await using world = await World.open();
    const git = await withRepository(world, { webhook_secret: SECRET });
    await git.host.commit({ "a.yaml": forbidding("nmap") });
    const repository = { [field]: git.host.url };
    const text = JSON.stringify({ repository, commits: ["x".repeat(20_000)] });
    const mac = createHmac("sha256", SECRET).update(text).digest("hex");
    const { answer, asked } = await push(world, git, text, {
      "x-github-event": "push",
      "x-github-delivery": "d1",
      "x-hub-signature-256": `sha256=${mac}`,
    });
    deq([answer.status, asked > 0], [202, true], field);
  }
});
