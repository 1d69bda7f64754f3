import assert from "node:assert/strict";
import { after, LATE, type Program } from "../../core/cli/program.ts";
import { clientOf } from "../clients/status_client.ts";
import {
  type Denokv,
  findDenokv,
  freePort,
  SECRET,
  startDenokv,
  TOKEN,
} from "../cluster/denokv.ts";
import { startAgent } from "../cluster/parts.ts";
import { makeKey, signUpOwner, START_MS, startMain, withFolder } from "../support/processes.ts";

const COUNT = 3;
const COMMANDS = 12;
const denokv = await findDenokv();
if (denokv === null) {
  console.log("denokv is not on the path: relay serve --instances is tried only with a refusal");
}

Deno.test("relay serve --instances: an embedded store is refused with what to do, and not made", async () => {
  await withFolder(async (folder) => {
    const relay = startMain(["serve", "--instances", "2"], { RELAY_KV: `${folder}/relay.kv` });
    const { code } = await relay.ended;
    const text = relay.lines.join("\n");
    assert.equal(code, 1, text);
    assert.match(text, /^relay: --instances needs .*Start a denokv server, set RELAY_KV to its/);
    assert.match(text, /DENO_KV_ACCESS_TOKEN/);
    assert.deepEqual([...Deno.readDirSync(folder)], []);
  });
});

Deno.test({
  name: "relay serve --instances: processes share a port, a killed one is replaced, and all stop",
  ignore: denokv === null,
  fn: () =>
    withFolder(async (folder) => {
      const store = await startDenokv(denokv!, `${folder}/store.sqlite`);
      const relay = startInstances(COUNT, store);
      // Each request opens a connection of its own, which any instance may get.
      const http = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
      try {
        const [, url] = await relay.line(/ is ready at (\S+)$/, START_MS);
        const pids: number[] = [];
        for (let n = 0; n < COUNT; n++) pids.push(await nextServing(relay));
        const client = (credential?: string) =>
          clientOf(url!, credential, (to, init) => fetch(to, { ...init, client: http }));
        const owner = client(await signUpOwner(client()));
        const key = await makeKey(owner, ["agents:admin", "agents:read", "agents:write"]);
        const agent = await startAgent({ url: url!, key, folder, name: "one" });
        for (let n = 0; n < COMMANDS; n++) {
          const { status, body } = await client(key)("GET", `/api/exec/${agent.id}?command=true`);
          assert.equal(status, 200, JSON.stringify(body));
        }
        await agent.program.stop();

        Deno.kill(pids[0]!, "SIGKILL");
        await relay.line(/an instance ended and will be replaced/, START_MS);
        assert.equal((await client()("GET", "/healthz")).status, 200);
        pids[0] = await nextServing(relay);

        Deno.kill(relay.pid, "SIGTERM");
        assert.equal((await relay.ended).code, 0, relay.lines.join("\n"));
        for (const pid of pids) {
          assert.throws(() => Deno.kill(pid, "SIGTERM"), Deno.errors.NotFound);
        }
      } finally {
        http.close();
        await relay.stop();
        await store.kill();
      }
    }),
});

Deno.test({
  name: "relay serve --instances: its processes stop when it is killed",
  ignore: denokv === null,
  fn: () =>
    withFolder(async (folder) => {
      const store = await startDenokv(denokv!, `${folder}/store.sqlite`);
      const relay = startInstances(2, store);
      try {
        for (let n = 0; n < 2; n++) await nextServing(relay);
        const deadline = after(START_MS);
        // It shares its standard error with its processes: its output ends with the last of them.
        assert.notEqual(await Promise.race([relay.kill(), deadline.late]), LATE);
        deadline.cancel();
      } finally {
        await store.kill();
      }
    }),
});

function startInstances(count: number, store: Denokv): Program {
  return startMain(["serve", "--instances", `${count}`], {
    RELAY_KV: store.url,
    DENO_KV_ACCESS_TOKEN: TOKEN,
    RELAY_SECRET: SECRET,
    RELAY_PORT: `${freePort()}`,
  });
}

async function nextServing(relay: Program): Promise<number> {
  const [line] = await relay.line(/^\{.*"an instance serves".*\}$/, START_MS);
  return JSON.parse(line).pid;
}
