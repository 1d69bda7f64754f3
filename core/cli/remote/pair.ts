import type { Client, Device } from "../../client/client.ts";
import type { Call, Run } from "./command.ts";
import { shellLine } from "./exec.ts";
import { labelsFrom } from "./labels.ts";

/** How often the command looks whether the agent is there. */
const POLL_MS = 500;
const INTERRUPTED = 130;
/** Addresses that mean this machine, on every machine. */
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** `relay pair` */
export const pair: Run = async (call) => {
  const { relay, target, list, host, out, args: [name] } = call;
  const client = relay();
  const { url } = target();
  const labels = labelsFrom(list("label"));
  const code = await client.call("devices.create_code", { body: { labels } });
  const named = name === undefined ? [] : ["--name", name];
  const words = ["relay", "agent", "pair", "--url", url, ...named, "--code", code.pairing_code];
  await out.note("Run this on the machine:");
  const line = `${shellLine(words)} && relay agent\n`;
  await (out.format === "table" ? host.write(line) : host.writeError(line));
  if (LOOPBACK.test(new URL(url).hostname)) {
    await out.note(`Another machine needs the relay's own address in place of ${url}.`);
  }
  await out.note(`Waiting until ${code.expires_at} …`);
  const interrupted = new AbortController();
  const forget = host.onInterrupt(() => interrupted.abort());
  try {
    return await arrive(call, client, code, interrupted.signal);
  } finally {
    forget();
  }
};

/** Waits until the agent of the code is there, or the code has expired; the exit code of this program. */
async function arrive(
  { host, out }: Call,
  client: Client,
  { id, expires_at }: { readonly id: string; readonly expires_at: string },
  interrupted: AbortSignal,
): Promise<number> {
  let device: Device | undefined;
  for (;;) {
    const query = { pairing_code_id: id };
    [device] = (await client.call("devices.list", { query })).devices;
    if (device?.agent_id) break;
    const late = host.now() >= Date.parse(expires_at);
    if (!late) await host.sleep(POLL_MS, interrupted);
    if (late || interrupted.aborted) return await giveUp(out, device, expires_at, late);
  }
  const agent = await client.call("agents.get", { params: { id: device.agent_id } });
  await out.item(agent, agent.id, [
    ["paired", `${agent.name} (${agent.id})`],
    ["platform", agent.platform],
    ["next", `relay exec ${agent.name} -- uptime`],
  ]);
  return 0;
}

/** Says what is left to do, and ends with 1, or after Ctrl-C with 130. */
async function giveUp(
  out: Call["out"],
  device: Device | undefined,
  expiresAt: string,
  late: boolean,
): Promise<number> {
  await out.note(
    device?.trust_status === "trusted"
      ? `The machine is paired as ${device.agent_name}. Start its agent there: relay agent`
      : late
      ? "No machine was paired in time. Make a new code: relay pair"
      : `The code stays valid until ${expiresAt}.`,
  );
  return late ? 1 : INTERRUPTED;
}
