import { deepStrictEqual as deq, ok, rejects, strictEqual as eq } from "node:assert/strict";
import { fetchHead, fetchPolicyFiles, type Source } from "../../../core/policies/git/fetch.ts";
import { safeOutbound } from "../../../core/ports/outbound/safe_outbound.ts";
import { systemClock } from "../../../core/ports/system.ts";
import { type GitServer, startGitServer } from "./git_server.ts";

const network = (allowPrivate = true) => {
  const outbound = safeOutbound({ clock: systemClock, allowPrivateTargets: () => allowPrivate });
  return { outbound, clock: systemClock, [Symbol.dispose]: () => outbound.close() };
};

const source = (url: string, path = "", branch = "main"): Source => ({
  organization: "org",
  url,
  path,
  branch,
  authorization: null,
});

const basic = (user: string, password: string) => `Basic ${btoa(`${user}:${password}`)}`;

Deno.test("fetchPolicyFiles: reads a file, a folder or the whole repository of the given branch", async () => {
  await using server = await startGitServer();
  using net = network();
  const repository = await server.create("rules");
  const commit = await repository.push("main", {
    "README.md": "none of ours",
    "policies/a.yaml": "name: a\n",
    "policies/deep/b.json": "{}",
    "other/c.yml": "name: c\n",
  });
  const next = await repository.push("next", { "policies/a.yaml": "name: later\n" });
  const fetch = (path: string, branch?: string) =>
    fetchPolicyFiles(net, source(repository.url, path, branch));
  deq(await fetch("policies/a.yaml"), {
    commit,
    files: [{ path: "policies/a.yaml", text: "name: a\n" }],
    links: [],
  });
  const paths = async (path: string) => (await fetch(path)).files.map((file) => file.path);
  deq(await paths("policies"), ["policies/a.yaml", "policies/deep/b.json"]);
  deq(await paths("/policies/"), ["policies/a.yaml", "policies/deep/b.json"]);
  deq(await paths(""), ["other/c.yml", "policies/a.yaml", "policies/deep/b.json"]);
  deq((await fetch("policies", "next")).files[0]?.text, "name: later\n");
  eq(await fetchHead(net, source(repository.url)), commit);
  eq(await fetchHead(net, source(repository.url, "", "next")), next);
});

Deno.test("fetchPolicyFiles: fetches a branch even if the host's default branch does not exist", async () => {
  await using server = await startGitServer();
  using net = network();
  const repository = await server.create("headless");
  const commit = await repository.push("trunk", { "a.yaml": "name: a\n" });
  const trunk = source(repository.url, "", "trunk");
  eq(await fetchHead(net, trunk), commit);
  eq((await fetchPolicyFiles(net, trunk)).commit, commit);
});

Deno.test("fetchPolicyFiles: reads the new history after a force-push", async () => {
  await using server = await startGitServer();
  using net = network();
  const repository = await server.create("rules");
  await repository.push("main", { "a.yaml": "1" });
  await repository.push("main", { "a.yaml": "2" });
  const forced = await repository.push("main", { "a.yaml": "3" }, { force: true });
  const { commit, files } = await fetchPolicyFiles(net, source(repository.url));
  deq([commit, files[0]?.text], [forced, "3"]);
});

Deno.test("fetchPolicyFiles: fetches only the last commit, however long the history is", async () => {
  await using server = await startGitServer();
  using net = network();
  const repository = await server.create("rules");
  await repository.push("main", { "old.bin": crypto.getRandomValues(new Uint8Array(60_000)) });
  await repository.push("main", { "a.yaml": "new" });
  const bytes: number[] = [];
  const outbound = {
    ...net.outbound,
    async request(...args: Parameters<typeof net.outbound.request>) {
      const answer = await net.outbound.request(...args);
      bytes.push(answer.bytes.length);
      return answer;
    },
  };
  await fetchPolicyFiles({ ...net, outbound }, source(repository.url));
  ok(Math.max(...bytes) < 10_000, `${bytes}`);
});

Deno.test("fetchPolicyFiles: unpacks files that the host sends as deltas", async () => {
  await using server = await startGitServer();
  using net = network();
  const repository = await server.create("rules");
  const rules = Array.from({ length: 200 }, (_, n) => `# ${crypto.randomUUID()} ${n}\n`);
  const files = Object.fromEntries(
    Array.from({ length: 30 }, (_, n) => [`${n}.yaml`, rules.toSpliced(n * 6, 3).join("")]),
  );
  await repository.push("main", files);
  let bytes = 0;
  const outbound = {
    ...net.outbound,
    async request(...args: Parameters<typeof net.outbound.request>) {
      const answer = await net.outbound.request(...args);
      bytes += answer.bytes.length;
      return answer;
    },
  };
  const fetched = await fetchPolicyFiles({ ...net, outbound }, source(repository.url));
  deq(Object.fromEntries(fetched.files.map(({ path, text }) => [path, text])), files);
  ok(bytes < 60_000, `${bytes} bytes: none of them is a delta`);
});

Deno.test("fetchPolicyFiles: uses credentials when the host asks for them", async () => {
  await using server = await startGitServer();
  using net = network();
  const repository = await server.create("rules");
  await repository.push("main", { "a.yaml": "1" });
  server.requireBasic("relay", "s3cret");
  const wanted = source(repository.url);
  await rejects(fetchPolicyFiles(net, wanted), { kind: "credentials" });
  const wrong = { ...wanted, authorization: basic("relay", "wrong") };
  await rejects(fetchPolicyFiles(net, wrong), { kind: "credentials" });
  const right = { ...wanted, authorization: basic("relay", "s3cret") };
  eq((await fetchPolicyFiles(net, right)).files.length, 1);
});

Deno.test("fetchPolicyFiles: gives an error each for an empty repository and a missing branch, path or repository", async () => {
  await using server = await startGitServer();
  using net = network();
  const empty = await server.create("empty");
  await rejects(fetchPolicyFiles(net, source(empty.url)), { kind: "empty" });
  const repository = await server.create("rules");
  await repository.push("main", { "a.yaml": "1" });
  const at = (path: string, branch?: string) =>
    fetchPolicyFiles(net, source(repository.url, path, branch));
  await rejects(at("", "nowhere"), { kind: "missing_branch", message: /no branch nowhere/ });
  await rejects(at("nowhere.yaml"), {
    kind: "missing_path",
    message: /does not contain nowhere.yaml/,
  });
  await rejects(at("a.yaml/b"), { kind: "missing_path" });
  await rejects(fetchPolicyFiles(net, source(`${server.url}/none.git`)), { kind: "not_found" });
  await rejects(fetchHead(net, source(repository.url, "", "nowhere")), { kind: "missing_branch" });
});

Deno.test("fetchPolicyFiles: refuses a repository of 200 MB, and reads no more than the limit", async () => {
  await using server = await startGitServer();
  using net = network();
  const repository = await server.create("big", { compressed: false });
  const noise = new Uint8Array(200 * 1024 * 1024);
  for (let at = 0; at < noise.length; at += 65_536) {
    crypto.getRandomValues(noise.subarray(at, at + 65_536));
  }
  await repository.push("main", { "a.yaml": "1", "big.bin": noise });
  const before = Deno.memoryUsage().rss;
  const started = performance.now();
  await rejects(fetchPolicyFiles(net, source(repository.url)), {
    kind: "too_large",
    message: /more than 16 MiB/,
  });
  const grown = (Deno.memoryUsage().rss - before) / 1024 / 1024;
  const ms = Math.round(performance.now() - started);
  console.log(`200 MB refused after ${ms} ms, ${Math.round(grown)} MiB of memory`);
  ok(grown < 150, `${grown} MiB`);
});

Deno.test("fetchPolicyFiles: refuses what unpacks beyond the limits, however small it is packed", async () => {
  await using server = await startGitServer();
  using net = network();
  const repository = await server.create("bomb");
  await repository.push("main", { "a.yaml": "1", "bomb": new Uint8Array(100 * 1024 * 1024) });
  await rejects(fetchPolicyFiles(net, source(repository.url)), { kind: "too_large" });
});

Deno.test("fetchPolicyFiles: a fetch from a host that hangs times out, and a private address is not dialled", async () => {
  await using server = await startGitServer();
  const repository = await server.create("rules");
  await repository.push("main", { "a.yaml": "1" });
  using guarded = network(false);
  await rejects(fetchPolicyFiles(guarded, source(repository.url)), { kind: "refused_address" });
  server.hang();
  let nowMs = 0;
  const due: { at: number; task: () => void }[] = [];
  const clock = {
    ...systemClock,
    now: () => nowMs,
    after(ms: number, task: () => void) {
      due.push({ at: nowMs + ms, task });
      return () => {};
    },
  };
  const outbound = safeOutbound({ clock, allowPrivateTargets: () => true });
  const fetching = fetchPolicyFiles({ outbound, clock }, source(repository.url));
  const refused = rejects(fetching, { kind: "timeout" });
  await seen(server, 1);
  eq(due.length, 1);
  nowMs = due[0]!.at;
  ok(nowMs <= 20_000);
  due[0]!.task();
  await refused;
  outbound.close();
});

/** Resolves when a server has seen this many requests more. */
async function seen(server: GitServer, more: number) {
  const wanted = server.seen.length + more;
  while (server.seen.length < wanted) await new Promise((resolve) => setImmediate(resolve));
}
