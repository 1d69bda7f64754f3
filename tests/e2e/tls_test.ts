import assert from "node:assert/strict";
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

Deno.test("relay serve: with a certificate it speaks HTTPS, and an agent runs commands over it", async () => {
  await withFolder(async (folder) => {
    const { relay, url } = await startRelayProcess({
      RELAY_KV: `${folder}/relay.kv`,
      ...TLS_ENV,
    });
    using clients = trustingClients(url);
    const { client } = clients;
    try {
      assert.match(url, /^https:\/\/localhost:\d+$/);
      assert.deepEqual((await client()("GET", "/healthz")).body, { status: "ok" });
      await assert.rejects(fetch(`${url}/healthz`), "a certificate that nobody vouches for");

      const owner = client(await signUpOwner(client()));
      const agent = startMain(["agent", "--url", url, "--state", `${folder}/agent`], {
        RELAY_TOKEN: await makeKey(owner, ["agents:admin"]),
        DENO_CERT: AUTHORITY,
      });
      try {
        const [, id] = await agent.line(/^connected to https:.* \((\w+)\)$/, START_MS);
        const caller = client(await makeKey(owner, ["agents:write"]));
        const { status, body } = await caller<{ stdout: string }>(
          "GET",
          `/api/exec/${id}?command=echo+over+TLS`,
        );
        assert.equal(status, 200);
        assert.equal(body.stdout, "over TLS\n");
      } finally {
        assert.equal((await agent.stop()).code, 0);
      }
    } finally {
      assert.equal((await relay.stop()).code, 0);
    }
  });
});

Deno.test("relay agent: an untrusted certificate, and http where https is needed, are explained", async () => {
  await withFolder(async (folder) => {
    const { relay, url } = await startRelayProcess({ RELAY_KV: ":memory:", ...TLS_ENV });
    const told = [
      [url, /no link to .*: name the PEM file of your own authority in DENO_CERT; /],
      [
        url.replace("https:", "http:"),
        /no link to .*: give an https:\/\/ address if the server requires one/,
      ],
    ] as const;
    try {
      for (const [address, sentence] of told) {
        const args = ["agent", "--url", address, "--state", `${folder}/agent`];
        const agent = startMain(args, { RELAY_TOKEN: "a-token" });
        try {
          await agent.line(sentence, START_MS);
        } finally {
          await agent.stop();
        }
      }
    } finally {
      await relay.stop();
    }
  });
});
