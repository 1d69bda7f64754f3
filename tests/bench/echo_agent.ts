import { Buffer } from "node:buffer";
import { AGENT_PROTOCOL, challengeBytes } from "../../core/protocol.ts";

/**
 * An agent that answers every command at once and runs nothing. Arguments: url, token (empty for the
 * bare relay), number of agents. Prints the agents' ids once all are welcome.
 */
const [url, token, count = "1"] = Deno.args as [string, string, string?];
const ids: string[] = [];

async function connect(n: number): Promise<void> {
  const keys = await crypto.subtle.generateKey("Ed25519", false, [
    "sign",
    "verify",
  ]) as CryptoKeyPair;
  const raw = Buffer.from(await crypto.subtle.exportKey("raw", keys.publicKey));
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = new WebSocket(`${url.replace("http", "ws")}/ws`, {
    ...(token && { headers: { authorization: `Bearer ${token}` }, protocols: [AGENT_PROTOCOL] }),
  });
  socket.onopen = () => token || resolve();
  socket.onclose = ({ code, reason }) => reject(new Error(`closed: ${code} ${reason}`));
  socket.onmessage = async ({ data }) => {
    const frame = JSON.parse(data);
    if (frame.type === "run") {
      socket.send(
        `{"type":"result","command_id":"${frame.command_id}","exit_code":0,"signal":null,` +
          `"reason":"exited","duration_ms":1,"stdout":"ok\\n","truncated":false}`,
      );
    } else if (frame.type === "challenge") {
      const bytes = challengeBytes(frame.nonce);
      const signature = await crypto.subtle.sign("Ed25519", keys.privateKey, bytes);
      socket.send(JSON.stringify({
        type: "hello",
        agent: {
          name: `bench-${n}`,
          version: "1",
          platform: "linux-x86_64",
          hostname: "bench",
          labels: {},
        },
        public_key: raw.toString("base64url"),
        signature: Buffer.from(signature).toString("base64url"),
        running: [],
      }));
    } else if (frame.type === "welcome") {
      ids.push(frame.agent_id);
      resolve();
    }
  };
  await promise;
  if (token) setInterval(() => socket.send('{"type":"heartbeat","status":"ok"}'), 30_000);
}

for (let n = 0; n < Number(count); n += 50) {
  const some = Math.min(50, Number(count) - n);
  await Promise.all(Array.from({ length: some }, (_, m) => connect(n + m)));
}
console.log(JSON.stringify({ ids }));
