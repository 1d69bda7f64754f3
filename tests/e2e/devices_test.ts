import assert from "node:assert/strict";
import { clientOf, expectStatus } from "../clients/status_client.ts";
import {
  signUpOwner,
  START_MS,
  startMain,
  startRelayProcess,
  withFolder,
} from "../support/processes.ts";

Deno.test("relay agent pair: a code is enough for a machine to run commands, until its device is deleted", async () => {
  await withFolder(async (folder) => {
    const { relay, url } = await startRelayProcess({ RELAY_KV: `${folder}/relay.kv` });
    const state = `${folder}/agent`;
    try {
      const owner = clientOf(url, await signUpOwner(clientOf(url)));
      const asked = await owner<{ pairing_code: string }>("POST", "/api/devices/pairing-codes");
      const { pairing_code: code } = expectStatus(asked, 201, "making a code");
      const args = [
        "agent",
        "pair",
        "--url",
        url,
        "--code",
        code,
        "--name",
        "Server 1",
        "--state",
        state,
      ];
      const paired = startMain(args);
      assert.equal((await paired.ended).code, 0, paired.lines.join("\n"));
      assert.match(paired.lines.join("\n"), /paired as server-1 \(dev_\w+\)/);
      const again = startMain(args);
      assert.equal((await again.ended).code, 1);
      assert.match(again.lines.join("\n"), /already used/);
      const { mode } = await Deno.stat(`${state}/credential.json`);
      assert.equal(mode! & 0o777, 0o600);
      const { credential } = JSON.parse(await Deno.readTextFile(`${state}/credential.json`));
      assert.ok(!paired.lines.join("\n").includes(credential), "the credential is not shown");

      const agent = startMain(["agent", "--state", state]);
      try {
        const [, id] = await agent.line(/ as server-1 \((agt_\w+)\)$/, START_MS);
        const run = await owner<{ stdout: string }>(
          "GET",
          "/api/exec/server-1?command=echo%20hello",
        );
        assert.equal(expectStatus(run, 200, "a command").stdout, "hello\n");
        const { body } = await owner<{ devices: { id: string }[] }>("GET", "/api/devices");
        const gone = await owner("DELETE", `/api/devices/${body.devices[0]!.id}`);
        expectStatus(gone, 204, "deleting the device");
        assert.equal((await agent.ended).code, 1);
        // The relay records the end of the link after it has closed it.
        const statusNow = async () =>
          (await owner<{ status: string }>("GET", `/api/v1/agents/${id}`)).body.status;
        while (await statusNow() !== "offline");
      } finally {
        await agent.kill();
      }
    } finally {
      await relay.stop();
    }
  });
});

Deno.test("relay agent: after its relay was set up anew, the command that it says makes it trust the new one", async () => {
  await withFolder(async (folder) => {
    const state = `${folder}/agent`;
    const pairAndRun = async (url: string) => {
      const owner = clientOf(url, await signUpOwner(clientOf(url)));
      const asked = await owner<{ pairing_code: string }>("POST", "/api/devices/pairing-codes");
      const { pairing_code: code } = expectStatus(asked, 201, "making a code");
      const pair = ["agent", "pair", "--state", state, "--url", url, "--code", code];
      const paired = startMain([...pair, "--name", "box"]);
      assert.equal((await paired.ended).code, 0, paired.lines.join("\n"));
      const agent = startMain(["agent", "--state", state]);
      await agent.line(/ as box \(agt_\w+\)$/, START_MS);
      const run = await owner<{ stdout: string }>("GET", "/api/exec/box?command=echo%20hello");
      assert.equal(expectStatus(run, 200, "a command").stdout, "hello\n");
      return agent;
    };
    const before = await startRelayProcess({ RELAY_KV: `${folder}/before.kv` });
    const old = await pairAndRun(before.url);
    await before.relay.stop();
    const { port } = new URL(before.url);
    const after = await startRelayProcess({ RELAY_KV: `${folder}/after.kv`, RELAY_PORT: port });
    try {
      assert.equal((await old.ended).code, 1);
      assert.match(
        old.lines.at(-1)!,
        /if the relay was set up anew, .* pair this machine again: relay agent pair --state /,
      );
      const agent = await pairAndRun(after.url);
      await agent.stop();
      assert.match(
        agent.lines.join("\n"),
        /another verdict key than before this machine was paired/,
      );
    } finally {
      await after.relay.stop();
    }
  });
});
