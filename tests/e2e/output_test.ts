import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { type Client, clientOf, expectStatus } from "../clients/status_client.ts";
import {
  makeKey,
  signUpOwner,
  START_MS,
  startMain,
  startRelayProcess,
  withFolder,
} from "../support/processes.ts";
import { random } from "../support/random.ts";
import { type WireMessage, WireReader } from "../support/wire.ts";

const RIGHTS = ["agents:admin", "agents:read", "agents:write"];
const CUTS = 20;

/** A relay and an agent, each in a process of its own, and a command that the agent runs. */
async function withCommand(
  command: string,
  use: (given: {
    url: string;
    key: string;
    owner: Client;
    path: string;
    kill: () => Promise<void>;
    restart: () => Promise<void>;
  }) => Promise<void>,
): Promise<void> {
  await withFolder(async (folder) => {
    const env = { RELAY_KV: `${folder}/relay.kv` };
    let { relay, url } = await startRelayProcess(env);
    const owner = clientOf(url, await signUpOwner(clientOf(url)));
    const key = await makeKey(owner, RIGHTS);
    const agent = startMain(["agent", "--url", url, "--state", `${folder}/agent`], {
      RELAY_TOKEN: key,
    });
    try {
      await agent.line(/connected/, START_MS);
      const { body: { agents: [found] } } = await owner<{ agents: { id: string }[] }>(
        "GET",
        "/api/v1/agents",
      );
      const commands = `/api/v1/agents/${found!.id}/commands`;
      const begun = await owner<{ command_id: string }>("POST", commands, { command });
      const { command_id } = expectStatus(begun, 202, "starting a command");
      await use({
        url,
        key,
        owner,
        path: `${commands}/${command_id}`,
        kill: () => relay.kill(),
        restart: async () => {
          ({ relay, url } = await startRelayProcess({ ...env, RELAY_PORT: new URL(url).port }));
        },
      });
    } finally {
      await agent.kill();
      await relay.kill();
    }
  });
}

/** Reads messages until one fits. */
async function readUntil(
  reader: WireReader,
  fits: (message: WireMessage) => boolean,
): Promise<void> {
  for (;;) {
    const messages = await reader.read(Infinity);
    if (messages === null) throw new Error("the stream has ended");
    if (messages.some(fits)) return;
  }
}

Deno.test("commands.output of a real agent: 100 lines come in order, over 20 random cuts", async () => {
  const seed = Number(Deno.env.get("RELAY_OUTPUT_SEED") ?? Math.floor(Math.random() * 1e6));
  const dice = random(seed);
  const command = "for i in $(seq 100); do echo $i $(date +%s%3N); sleep 0.05; done; exit 7";
  await withCommand(command, async ({ url, key, path }) => {
    const port = Number(new URL(url).port);
    let text = "", last = "0";
    const delaysMs: number[] = [];
    let result: WireMessage | null = null, cut = 0;
    for (; result === null; cut++) {
      const reader = await WireReader.open(port, "sse", key, last, `${path}/output`);
      // A cut comes at any byte of up to four lines, so that some lines are left after the last cut.
      const cutAt = cut < CUTS ? dice.below(1_000) : Infinity;
      const linesMax = cut < CUTS ? 4 * (cut + 1) : Infinity;
      while (result === null && reader.bytesRead < cutAt && delaysMs.length < linesMax) {
        for (const message of await reader.read(cutAt - reader.bytesRead) ?? []) {
          if (message.kind === "result") result = message;
          if (message.kind !== "output") continue;
          eq(message.data.offset, Number(last), `seed ${seed}`);
          last = message.id!;
          text += message.data.data;
          const writtenMs = Number(message.data.data.trim().split(/\s/).at(-1));
          delaysMs.push(Date.now() - writtenMs);
        }
      }
      reader.cut();
    }
    const lines = text.trim().split("\n").map((line) => Number(line.split(" ")[0]));
    deq(lines, Array.from({ length: 100 }, (_, n) => n + 1));
    deq([result.data.status, result.data.exit_code], ["failed", 7]);
    delaysMs.sort((a, b) => a - b);
    console.log(
      `output seed ${seed}, ${cut - 1} cuts: median ${delaysMs[delaysMs.length >> 1]} ms, ` +
        `longest ${delaysMs.at(-1)} ms from the agent's write`,
    );
  });
});

Deno.test("commands.output of a real agent: after a kill -9 of the relay a reader learns the end", async () => {
  const command = "for i in $(seq 40); do echo $i; sleep 0.05; done";
  await withCommand(command, async ({ url, key, owner, path, kill, restart }) => {
    const port = Number(new URL(url).port);
    const first = await WireReader.open(port, "sse", key, null, `${path}/output`);
    let last = "0";
    await readUntil(first, ({ kind, id, data }) => {
      if (kind === "output") last = id!;
      return kind === "output" && data.data.includes("10\n");
    });
    await kill();
    first.cut();
    await restart();
    const again = await WireReader.open(port, "sse", key, last, `${path}/output`);
    let status = "";
    await readUntil(again, ({ kind, data }) => {
      if (kind === "result") status = data.status;
      return kind === "result";
    });
    again.cut();
    ok(status === "lost" || status === "succeeded", status);
    // The agent reports the result over its new link, and the record is corrected.
    while (status !== "succeeded") {
      const { body } = await owner<{ status: string; truncated: boolean }>("GET", path);
      if (body.status === "succeeded") eq(body.truncated, true);
      status = body.status;
    }
  });
});
