import { ok, strictEqual as eq } from "node:assert/strict";

async function run(script: string, ...args: string[]) {
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", new URL(script, import.meta.url).pathname, ...args],
    stdin: "null",
  }).output();
  return { code, stderr: new TextDecoder().decode(stderr) };
}

Deno.test("bench: an unknown name is refused with every known one, before anything runs", async () => {
  const { code, stderr } = await run("bench.ts", "shield", "nope");
  eq(code, 2);
  ok(/no benchmark nope\. There are: .*\bread\b.*\bstreams\b/.test(stderr), stderr);
});

Deno.test("bench: a place for the figures without a path is refused, before anything runs", async () => {
  const { code, stderr } = await run("bench.ts", "shield", "--json");
  eq(code, 2);
  ok(/--json needs the path of a file/.test(stderr), stderr);
});

Deno.test("bench: a subscriber that is refused fails at once", async () => {
  const refuse = () => new Response("too many", { status: 429 });
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, refuse);
  try {
    const { code, stderr } = await run(
      "streams/subscribers.ts",
      `${server.addr.port}`,
      "a key",
      "1",
      "0",
    );
    eq(code, 1);
    ok(/a stream was refused: HTTP\/1.1 429/.test(stderr), stderr);
  } finally {
    await server.shutdown();
  }
});

Deno.test("bench:paired: an unknown name is refused with every known one, before anything runs", async () => {
  const { code, stderr } = await run("paired/paired.ts", "--against", ".", "shield", "nope");
  eq(code, 2);
  ok(
    /no benchmark nope\. There are: read, organizations, exec, mcp, webhooks, shield, start, memory, streams, batches/
      .test(
        stderr,
      ),
    stderr,
  );
});

Deno.test("bench:paired: a folder to compare with is required", async () => {
  const { code, stderr } = await run("paired/paired.ts", "shield");
  eq(code, 2);
  ok(/--against needs a value/.test(stderr), stderr);
});
