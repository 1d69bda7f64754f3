import assert from "node:assert/strict";
import { dial } from "../../core/cli/agent/link/dial.ts";
import type { SocketEnd } from "../../core/cli/agent/interfaces.ts";
import { MAX_RELAY_FRAME_BYTES } from "../../core/protocol/protocol.ts";
import {
  AUTHORITY,
  makeKey,
  signUpOwner,
  START_MS,
  startMain,
  startRelayProcess,
  TLS_ENV,
  trustingClients,
  withFolder,
} from "../support/processes.ts";

const listen = { hostname: "127.0.0.1", port: 0, onListen() {} } as const;

/** How a link to an address ends; a message counts as an end too. */
const endAt = (url: string) =>
  new Promise<SocketEnd>((closed) => {
    const message = () => closed({ code: 1, reason: "a message came" });
    dial(url, "secret", { closed, message });
  });

/** How a link to a server that does this ends. */
async function endOf(serve: Deno.ServeHandler): Promise<SocketEnd> {
  await using server = Deno.serve(listen, serve);
  return await endAt(`http://127.0.0.1:${server.addr.port}/base/`);
}

Deno.test("dial: a refused handshake reports its status and reason", async () => {
  const error = { code: "INVALID_API_KEY", message: "It was revoked.", details: {} };
  const cases: [Response, string][] = [
    [Response.json({ error }, { status: 401 }), "INVALID_API_KEY: It was revoked."],
    [new Response("go away", { status: 403 }), "go away"],
    [new Response(null, { status: 401 }), ""],
    [new Response("elsewhere", { status: 302, headers: { location: "/ws" } }), "elsewhere"],
    [new Response("x".repeat(100_000), { status: 503 }), "x".repeat(2_000)],
  ];
  for (const [response, reason] of cases) {
    const { status } = response;
    assert.deepEqual(await endOf(() => response), { code: 0, reason, status });
  }
});

Deno.test("dial: requests the agents' protocol below the relay's path, with the credential", async () => {
  const { reason } = await endOf(({ url, headers }) => {
    const asked = ["authorization", "sec-websocket-protocol"].map((name) => headers.get(name));
    return new Response([new URL(url).pathname, ...asked].join(), { status: 404 });
  });
  assert.equal(reason, "/base/ws,Bearer secret,relay.agent.v1");
});

Deno.test("dial: a frame beyond the cap ends the link before it is buffered", async () => {
  const end = await endOf((request) => {
    const { socket, response } = Deno.upgradeWebSocket(request, { protocol: "relay.agent.v1" });
    socket.onopen = () => socket.send("x".repeat(MAX_RELAY_FRAME_BYTES + 1));
    return response;
  });
  assert.match(end.reason, /Max payload size exceeded/);
});

Deno.test("dial: errors of the environment end the link and show no secret", async () => {
  for (
    const [env, says] of [
      [{ DENO_CERT: "/nowhere.pem" }, /No such file.*\/nowhere\.pem/],
      [{ HTTPS_PROXY: "socks5://user:p4ssw@127.0.0.1:1" }, /HTTPS_PROXY take the address/],
    ] as const
  ) {
    const script = `import { dial } from ${
      JSON.stringify(new URL("../../core/cli/agent/link/dial.ts", import.meta.url))
    };
      dial("https://127.0.0.1:1", "t", { message() {}, closed: (end) => console.log(end.code, end.reason) });`;
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        "eval",
        "--no-check",
        "--config",
        new URL("../../deno.json", import.meta.url).pathname,
        script,
      ],
      env: { ...env, DENO_NO_UPDATE_CHECK: "1" },
    }).output();
    const said = new TextDecoder().decode(stdout);
    assert.equal(code, 0, new TextDecoder().decode(stderr));
    assert.match(said, says);
    assert.doesNotMatch(said, /p4ssw/);
  }
});

/** A proxy as companies have it; `asked` tells the method of each request to it. */
function startProxy() {
  const asked: string[] = [];
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const carry = async (from: Deno.Conn) => {
    const buffer = new Uint8Array(8 * 1024);
    const head = new TextDecoder().decode(buffer.subarray(0, (await from.read(buffer))!));
    const [method, target] = head.split(" ", 2) as [string, string];
    asked.push(method);
    const tunnel = method === "CONNECT";
    const url = new URL(tunnel ? `https://${target}` : target);
    const to = await Deno.connect({ hostname: "127.0.0.1", port: Number(url.port) });
    const first = new TextEncoder().encode(head.replace(target, url.pathname));
    if (tunnel) await from.write(new TextEncoder().encode("HTTP/1.1 200 OK\r\n\r\n"));
    else await to.write(first);
    await Promise.allSettled([
      from.readable.pipeTo(to.writable),
      to.readable.pipeTo(from.writable),
    ]);
  };
  const accepting = (async () => {
    for await (const from of listener) carry(from).catch(() => from.close());
  })();
  return {
    url: `http://127.0.0.1:${listener.addr.port}`,
    asked,
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting;
    },
  };
}

for (const [scheme, method] of [["http", "GET"], ["https", "CONNECT"]] as const) {
  Deno.test(`relay agent: reaches a relay at ${scheme} through the proxy of the environment`, async () => {
    await withFolder(async (folder) => {
      const { relay, url } = await startRelayProcess({
        RELAY_KV: `${folder}/relay.kv`,
        ...scheme === "https" ? TLS_ENV : { RELAY_HOST: "localhost" },
      });
      using clients = trustingClients(url);
      const { client } = clients;
      await using proxy = startProxy();
      const owner = client(await signUpOwner(client()));
      const agent = startMain(["agent", "--url", url, "--state", `${folder}/agent`], {
        RELAY_TOKEN: await makeKey(owner, ["agents:admin"]),
        DENO_CERT: AUTHORITY,
        DENO_NO_UPDATE_CHECK: "1", // it would go through the proxy too
        [`${scheme.toUpperCase()}_PROXY`]: proxy.url,
      });
      try {
        const [, id] = await agent.line(/^connected to https?:.* \((\w+)\)$/, START_MS);
        assert.deepEqual(proxy.asked, [method]);
        const caller = client(await makeKey(owner, ["agents:write"]));
        const path = `/api/exec/${id}?command=seq+1+2000`;
        const { status, body } = await caller<{ stdout: string }>("GET", path);
        assert.equal(status, 200);
        assert.equal(body.stdout.length, 8_893);
      } finally {
        assert.equal((await agent.stop()).code, 0);
        assert.equal((await relay.stop()).code, 0);
      }
    });
  });
}
