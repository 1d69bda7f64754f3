import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { createHmac } from "node:crypto";
import { repositories } from "../../kv/records/gitops.ts";
import { forbidding, withRepository } from "./git_fixtures.ts";
import { mulberry32 } from "../support/random.ts";
import { World } from "../support/world.ts";
import { AFTER, BODIES, hex, HOOK, push, SECRET, SENDERS, WHSEC } from "./push_fixtures.ts";
import { rawRows } from "../support/raw_rows.ts";

for (const { name, provider, secret = SECRET, body, headers, proof } of SENDERS) {
  Deno.test(`webhook: a push of ${name} is applied, its replay is not, and no flipped byte passes`, async () => {
    await using world = await World.open();
    const git = await withRepository(world, { provider, webhook_secret: secret });
    await git.host.commit({ "a.yaml": forbidding("nmap") });
    const text = JSON.stringify(body);
    const sign = (delivery: string) => headers(text, delivery, world.clock.nowMs);
    const right = sign("d1");
    const flip = (value: string, at: number) =>
      value.slice(0, at) + String.fromCharCode(value.charCodeAt(at) ^ 1) + value.slice(at + 1);

    const unit = mulberry32(7);
    const isSigned = !Object.hasOwn(right, "x-gitlab-token");
    for (let n = 0; isSigned && n < 40; n++) {
      const changed = flip(text, Math.floor(unit() * text.length));
      eq((await push(world, git, changed, right)).asked, 0, changed);
    }
    for (const header of proof) {
      const value = right[header]!;
      for (const at of [0, value.length >> 1, value.length - 1]) {
        const changed = { ...right, [header]: flip(value, at) };
        eq((await push(world, git, text, changed)).asked, 0, JSON.stringify(changed));
      }
      const { [header]: _, ...without } = right;
      eq((await push(world, git, text, without)).asked, 0);
    }

    const first = await push(world, git, text, right);
    deq([first.answer.status, first.answer.body], [202, { accepted: true }]);
    ok(first.asked > 0, "the push was not obeyed");
    eq((await git.get("policies")).body.policies[0].name, "a");
    eq((await push(world, git, text, right)).asked, 0);
    // The signature does not cover the delivery id, so another id does not make it another push.
    if (isSigned && !Object.hasOwn(right, "webhook-id")) {
      eq((await push(world, git, text, sign("d2"))).asked, 0);
    }
    await world.advance(6 * 60_000);
    eq((await push(world, git, text, right)).asked, 0);

    const elsewhere = JSON.stringify({ ...body as object, ref: "refs/heads/other", after: "1" });
    eq((await push(world, git, elsewhere, headers(elsewhere, "d3", world.clock.nowMs))).asked, 0);
    const next = JSON.stringify({ ...body as object, after: "2" });
    ok((await push(world, git, next, headers(next, "d4", world.clock.nowMs))).asked > 0);
  });
}

Deno.test("push: a GitLab push that moves a branch back is processed, though its body is a repetition", async () => {
  await using world = await World.open();
  const git = await withRepository(world, { provider: "gitlab", webhook_secret: SECRET });
  const { body, headers } = SENDERS[1]!;
  const text = JSON.stringify(body);
  for (const [delivery, program] of [["d1", "nmap"], ["d2", "ssh"], ["d3", "nmap"]] as const) {
    await git.host.commit({ "a.yaml": forbidding(program) });
    const sent = delivery === "d2" ? text.replaceAll(AFTER, "2") : text;
    await push(world, git, sent, headers(sent, delivery, world.clock.nowMs));
    const { policies: [{ id }] } = (await git.get("policies")).body;
    eq((await git.get(`policies/${id}`)).body.document.rules[0].id, `no-${program}`);
  }
});

Deno.test("push: a secret that only looks encoded does not become an empty key", async () => {
  await using world = await World.open();
  const git = await withRepository(world, { provider: "gitlab", webhook_secret: "whsec_!!!!" });
  const text = JSON.stringify(BODIES.gitlab);
  const signed = (key: string, id: string) => {
    const at = String(Math.floor(world.clock.nowMs / 1000));
    const mac = createHmac("sha256", key).update(`${id}.${at}.${text}`).digest("base64");
    const names = { "x-gitlab-event": "Push Hook", "webhook-id": id, "webhook-timestamp": at };
    return { ...names, "webhook-signature": `v1,${mac}` };
  };
  eq((await push(world, git, text, signed("", "d1"))).asked, 0);
  ok((await push(world, git, text, signed("whsec_!!!!", "d2"))).asked > 0);
});

Deno.test("push: the answer is the same for known and unknown repositories, right and wrong signatures", async () => {
  await using world = await World.open();
  const git = await withRepository(world, { provider: "github", webhook_secret: SECRET });
  const github = JSON.stringify(BODIES.github);
  const bodies = [
    github,
    github.replaceAll("acme/policies", "acme/none"),
    JSON.stringify({ event: "push", repository: git.host.url }),
    JSON.stringify({ event: "push", repository: "nobody/nothing" }),
    JSON.stringify({ event: "ping", repository: 7 }),
    JSON.stringify({ event: "push", repository: null, ref: [] }),
    "{}",
  ];
  for (const body of bodies) {
    const { answer, asked } = await push(world, git, body, { "x-github-event": "push" });
    deq([answer.status, answer.text, asked], [202, '{"accepted":true}', 0], body);
  }
});

// With quadratic time in the length of a name, this would take minutes.
Deno.test("push: no body, signed or not, breaks Relay or keeps it busy", async () => {
  await using world = await World.open();
  const git = await withRepository(world, { provider: "github", webhook_secret: SECRET });
  const names = Array.from({ length: 15_000 }, (_, n) => [`k${n}`, `https://h${n}.example/a`]);
  const bodies: unknown[] = [
    { event: "push", repository: `a${"/".repeat(500_000)}b` },
    { event: "push", repository: `https://git.example.com/a${"/".repeat(500_000)}b` },
    { event: "push", repository: "a".repeat(1_000_000) },
    { event: { toString: 1, valueOf: 1 }, repository: "acme/policies" },
    { event: "push", after: { toString: 1 }, repository: { url: { toString: 1 } } },
    { event: "push", repository: Object.fromEntries(names) },
  ];
  for (const body of bodies) {
    const small = JSON.stringify(body);
    const large = JSON.stringify({ ...body as object, of: BODIES.github.repository });
    for (const text of small.length > 16_384 ? [large] : [small, large]) {
      const signed = { "x-hub-signature-256": `sha256=${hex(text)}` };
      const { answer, asked } = await push(world, git, text, signed);
      deq([answer.status, answer.text, asked], [202, '{"accepted":true}', 0]);
    }
  }
});

Deno.test("push: the short form records what is pending in a repository without a secret, with a minimum interval", async () => {
  await using world = await World.open();
  const git = await withRepository(world);
  const commit = (program: string) => git.host.commit({ "a.yaml": forbidding(program) });
  const pending = async () => {
    deq((await git.get("policies")).body.policies, []);
    return (await git.get(`repos/${git.repositoryId}`)).body.pending;
  };
  const send = (repository: string) =>
    push(world, git, JSON.stringify({ event: "push", repository }), {});
  const first = await commit("nmap");
  for (const other of ["acme/other", "https://git.example.com/acme", "policies"]) {
    eq((await send(other)).asked, 0, other);
  }
  ok((await send("acme/policies")).asked > 0);
  deq(await pending(), {
    commit: first,
    seen_at: new Date(world.clock.nowMs).toISOString(),
    changes: [{ action: "create", name: "a", path: "a.yaml" }],
    changes_total: 1,
  });
  const second = await commit("nc");
  eq((await send(git.host.url)).asked, 0);
  eq((await send("git@git.example.com:acme/policies.git")).asked, 0);
  await world.advance(10_000);
  eq((await pending()).commit, second);
  const asked = git.host.asked;
  await world.advance(60 * 60_000);
  eq(git.host.asked, asked);
});

Deno.test("push: unsigned pushes are written once for each sync", async () => {
  await using world = await World.open();
  const git = await withRepository(world);
  const send = (after: string) =>
    push(world, git, JSON.stringify({ event: "push", repository: "acme/policies", after }), {});
  await send("1");
  await send("2");
  await world.settle();
  const stamps = async () => {
    const found = [];
    for (const { versionstamp, key } of await rawRows(world.kv, git.owner)) {
      found.push(`${key.join("/")} ${versionstamp}`);
    }
    return found;
  };
  const before = await stamps();
  for (let n = 3; n < 8; n++) await send(String(n));
  deq(await stamps(), before);
});

Deno.test("push: wakes fifty registrations without a secret, and every one with a secret", async () => {
  await using world = await World.open();
  const others = await withRepository(world);
  const last = await withRepository(
    world,
    { provider: "github", webhook_secret: SECRET },
    await world.signUp(),
  );
  const { store } = world.app;
  const { owner: { org }, repositoryId } = others;
  const record = (await store.get(repositories, { org, space: "live" }, repositoryId))!;
  // Digits come before the name of any organization.
  const before = Array.from({ length: 99 }, (_, n) => ({ org: `${n}`, space: "live" } as const));
  for (const tenant of before) {
    await store.transact((tx) => {
      tx.insert(repositories, tenant, { ...record, id: `r${tenant.org}` });
    });
  }
  const text = JSON.stringify(BODIES.github);
  ok((await push(world, last, text, SENDERS[0]!.headers(text, "d1", 0))).asked > 0);
  const after = await Promise.all(
    before.map((each) => store.get(repositories, each, `r${each.org}`)),
  );
  eq(after.filter((each) => each!.look_at_ms !== null).length, 50);
});

Deno.test("push: is rate-limited for each address", async () => {
  await using world = await World.open({ config: { limits: { public_per_minute: 3 } } });
  const body = { event: "push", repository: "acme/none" };
  const statuses = [];
  for (let n = 0; n < 5; n++) {
    statuses.push((await world.call("POST", HOOK, { body, from: "198.51.100.7" })).status);
  }
  deq(statuses, [202, 202, 202, 429, 429]);
  eq((await world.call("POST", HOOK, { body, from: "198.51.100.8" })).status, 202);
});

Deno.test("push: a failed sync is retried, though the push comes only once", async () => {
  await using world = await World.open();
  const git = await withRepository(world, { provider: "github", webhook_secret: SECRET });
  await git.host.commit({ "a.yaml": forbidding("nmap") });
  const text = JSON.stringify(BODIES.github);
  git.host.broken = { status: 503 };
  ok((await push(world, git, text, SENDERS[0]!.headers(text, "d1", 0))).asked > 0);
  deq((await git.get("policies")).body.policies, []);
  // The host works again; the same push again is a replay.
  git.host.broken = null;
  eq((await push(world, git, text, SENDERS[0]!.headers(text, "d1", 0))).asked, 0);
  await world.advance(2 * 60_000);
  eq((await git.get("policies")).body.policies[0]?.name, "a");
  const { asked } = git.host;
  await world.advance(60 * 60_000);
  eq(git.host.asked, asked, "it is asked on, though nothing failed");
});

Deno.test("push: a signature with a time is valid within five minutes of it", async () => {
  await using world = await World.open();
  const git = await withRepository(world, { provider: "gitlab", webhook_secret: WHSEC });
  const { headers } = SENDERS.find(({ secret }) => secret === WHSEC)!;
  const asked = async (offMs: number) => {
    const text = JSON.stringify({ ...BODIES.gitlab, after: `${offMs}` });
    const signed = headers(text, `d${offMs}`, world.clock.nowMs + offMs);
    return (await push(world, git, text, signed)).asked > 0;
  };
  const minutes = 5 * 60_000;
  deq([await asked(-minutes), await asked(minutes)], [true, true]);
  deq([await asked(-minutes - 1_000), await asked(minutes + 1_000)], [false, false]);
});
