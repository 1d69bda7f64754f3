import { Buffer } from "node:buffer";
import { dial } from "../../core/cli/agent/link/dial.ts";
import { CLOSE_CODES } from "../../core/protocol/close_codes.ts";
import type { CommandOrder, CommandResult, RunFrame } from "../../core/protocol/protocol.ts";
import {
  challengeText,
  privateKeyOf,
  rawPublicKey,
  receiptText,
  signText,
} from "../../core/protocol/statements.ts";

/**
 * An agent that answers every command at once and runs nothing. Arguments: url, token (empty for the
 * bare relay), number of agents. Prints the agents' ids once all are welcome, and ends with their links. SIGINT closes
 * the links: such agents are not missed, so no notification about them is recorded later.
 */
const [url, token, count = "1"] = Deno.args as [string, string, string?];
const ids: string[] = [];
let left = 0;

async function connect(n: number): Promise<void> {
  const key = privateKeyOf(crypto.getRandomValues(new Uint8Array(32)));
  const nonce = Buffer.from(crypto.getRandomValues(new Uint8Array(18))).toString("base64url");
  let agentId = "", beating: ReturnType<typeof setInterval> | undefined;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = dial(url, token, {
    closed: ({ code, reason }) => {
      clearInterval(beating);
      if (code === CLOSE_CODES.normal.code && ++left === ids.length) Deno.exit();
      reject(new Error(`closed: ${code} ${reason}`));
    },
    message,
  });
  Deno.addSignalListener("SIGINT", () => socket.close(CLOSE_CODES.normal.code, ""));
  function message(data: string | null) {
    const frame = JSON.parse(data!);
    if (frame.type === "run" && !token) {
      socket.send(JSON.stringify({ command_id: frame.command_id, exit_code: 0, stdout: "ok\n" }));
    } else if (frame.type === "run") {
      const results = answer(frame, `${nonce}.${frame.batch}`);
      const signature = signText(key, receiptText(agentId, results));
      socket.send(JSON.stringify({ type: "results", results, signature }));
    } else if (frame.type === "challenge") {
      socket.send(JSON.stringify({
        type: "hello",
        agent: {
          name: `bench-${n}`,
          version: "1",
          platform: "linux-x86_64",
          hostname: "bench",
          labels: {},
        },
        public_key: rawPublicKey(key),
        signature: signText(key, challengeText(frame.nonce)),
        running: [],
        nonce,
      }));
    } else if (frame.type === "welcome") {
      agentId = frame.agent_id;
      ids.push(agentId);
      resolve();
    }
  }
  await promise;
  if (token) beating = setInterval(() => socket.send('{"type":"heartbeat","status":"ok"}'), 30_000);
}

/** What a command that writes "ok" and exits with 0 gives. */
function answer({ commands }: RunFrame, verdict: string): CommandResult[] {
  return commands.map(({ command_id }: CommandOrder) => ({
    command_id,
    verdict,
    exit_code: 0,
    signal: null,
    reason: "exited",
    duration_ms: 1,
    stdout: "ok\n",
    truncated: false,
  }));
}

for (let n = 0; n < Number(count); n += 50) {
  const some = Math.min(50, Number(count) - n);
  await Promise.all(Array.from({ length: some }, (_, m) => connect(n + m)));
}
console.log(JSON.stringify({ ids }));
