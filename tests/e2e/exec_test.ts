import { deepStrictEqual as deq, match, ok, strictEqual as eq } from "node:assert/strict";
import { clientOf } from "../clients/status_client.ts";
import type { Program } from "../../core/cli/program.ts";
import {
  signUpOwner,
  START_MS,
  startMain,
  startRelayProcess,
  withFolder,
} from "../support/processes.ts";
import { random } from "../support/random.ts";

const CUTS = 20;
const COUNT = "for i in $(seq 100); do echo $i; sleep 0.05; done";
const upTo = (last: number) => Array.from({ length: last }, (_, at) => `${at + 1}`);

interface Machine {
  readonly url: string;
  readonly folder: string;
  /** Runs `relay exec` on the agent in a process of its own, at an address of the relay. */
  exec(at: string, ...words: readonly string[]): Program;
  restart(): Promise<void>;
}

/** A relay and an agent, each in a process of its own. */
async function withMachine(use: (machine: Machine) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const env = { RELAY_KV: `${folder}/relay.kv` };
    let { relay, url } = await startRelayProcess(env);
    const token = await signUpOwner(clientOf(url));
    const owner = clientOf(url, token);
    const { body: { pairing_code: code } } = await owner<{ pairing_code: string }>(
      "POST",
      "/api/devices/pairing-codes",
    );
    const state = `${folder}/agent`;
    const pair = ["agent", "pair", "--state", state, "--url", url, "--code", code];
    eq((await startMain([...pair, "--name", "box"]).ended).code, 0);
    const agent = startMain(["agent", "--state", state]);
    try {
      await agent.line(/connected/, START_MS);
      await use({
        url,
        folder,
        exec: (at, ...words) =>
          startMain(["exec", "box", "--", ...words], { RELAY_URL: at, RELAY_TOKEN: token }),
        async restart() {
          await relay.kill();
          ({ relay, url } = await startRelayProcess({ ...env, RELAY_PORT: new URL(url).port }));
        },
      });
    } finally {
      await agent.kill();
      await relay.kill();
    }
  });
}

const RESULT = "event: result";

/**
 * A way to a relay on which the first connections that follow output are cut: at a random byte of what comes after a
 * random time, and always before the command's end is told.
 */
function cuttingProxy(url: string, dice: ReturnType<typeof random>) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const target = { hostname: "127.0.0.1", port: Number(new URL(url).port) };
  let cuts = 0;
  const pass = async (client: Deno.TcpConn) => {
    const server = await Deno.connect(target);
    let cutAt: number | null = null;
    const up = (async () => {
      for await (const bytes of client.readable) {
        if (/\/output HTTP/.test(new TextDecoder().decode(bytes))) {
          cutAt = performance.now() + dice.below(30);
        }
        await server.write(bytes);
      }
    })();
    const down = (async () => {
      for await (const bytes of server.readable) {
        const text = new TextDecoder("latin1").decode(bytes);
        const end = text.indexOf(RESULT);
        const isDue = cutAt !== null && performance.now() > cutAt && /^data: /m.test(text);
        if (cuts < CUTS && (isDue || end >= 0)) {
          cuts++;
          await client.write(bytes.subarray(0, dice.below(end < 0 ? bytes.length : end)));
          return;
        }
        await client.write(bytes);
      }
    })();
    await Promise.race([up.catch(() => {}), down.catch(() => {})]);
    for (const side of [client, server]) {
      try {
        side.close();
      } catch { /* the other end was first */ }
    }
  };
  (async () => {
    for await (const client of listener) void pass(client);
  })();
  return {
    url: `http://127.0.0.1:${(listener.addr as Deno.NetAddr).port}`,
    cuts: () => cuts,
    [Symbol.dispose]: () => listener.close(),
  };
}

Deno.test("relay exec: 100 lines of a real agent come in order over 20 random cuts", async () => {
  const seed = Number(Deno.env.get("RELAY_OUTPUT_SEED") ?? Math.floor(Math.random() * 1e6));
  console.log(`RELAY_OUTPUT_SEED=${seed}`);
  await withMachine(async ({ url, exec }) => {
    using proxy = cuttingProxy(url, random(seed));
    const counting = exec(proxy.url, `${COUNT}; exit 7`);
    const { code } = await counting.ended;
    deq([code, counting.lines], [7, upTo(100)]);
    eq(proxy.cuts(), CUTS);
  });
});

Deno.test("relay exec: Ctrl-C ends the whole process group; after kill -9 of the relay each line came once, and the end is told", async () => {
  await withMachine(async ({ url, folder, exec, restart }) => {
    const fifo = `${folder}/alive`;
    await new Deno.Command("mkfifo", { args: [fifo] }).output();
    const endless = exec(url, `exec 3>${fifo}; echo begun; sleep 600 & sleep 600`);
    // Every process of the group holds the pipe open.
    const gone = Deno.readTextFile(fifo);
    await endless.line(/begun/, START_MS);
    const at = performance.now();
    Deno.kill(endless.pid, "SIGINT");
    eq(await gone, "");
    console.log(`the group ended ${Math.round(performance.now() - at)} ms after Ctrl-C`);
    eq((await endless.ended).code, 130);

    const counting = exec(url, COUNT);
    await counting.line(/^30$/, START_MS);
    await restart();
    const { code } = await counting.ended;
    const said = counting.lines.join("\n");
    const lines = counting.lines.filter((line) => /^\d+$/.test(line));
    deq(lines, upTo(lines.length));
    ok(lines.length >= 30);
    if (code === 125) match(said, /^relay: the command cmd_\w+ has no exit code: lost/m);
    else eq(code, 0);
    // The agent may report the end after the restart; what it wrote while no relay was there is not kept.
    if (lines.length < 100) match(said, /^relay: (the command|this is only a part of the output)/m);
  });
});

Deno.test("machine.onInterrupt: the first Ctrl-C calls back, the second ends the program", async () => {
  const host = import.meta.resolve("../../core/cli/remote/host.ts");
  const code = `import { machine } from "${host}";
    machine.onInterrupt(() => console.log("stopping"));
    console.log("ready");
    setInterval(() => {}, 60_000);`;
  const args = ["eval", code];
  const child = new Deno.Command(Deno.execPath(), { args, stdout: "piped" }).spawn();
  let lines = 0;
  for await (const _ of child.stdout) child.kill(++lines > 2 ? "SIGKILL" : "SIGINT");
  deq([(await child.status).signal, lines], ["SIGINT", 2]);
});
