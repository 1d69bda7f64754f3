import type { Program } from "../../core/cli/program.ts";
import { findDenokv, SECRET, startDenokv, TOKEN } from "./denokv.ts";
import { roundRobin } from "./round_robin.ts";

type Env = Readonly<Record<string, string>>;
type Start = (env: Env) => Promise<{ readonly relay: Program; readonly url: string }>;

/**
 * Starts several instances in place of one, over a denokv server and behind one address. The server keeps its data
 * beside the embedded file that the one would have had.
 */
export async function startSeveral(
  count: number,
  start: Start,
  { RELAY_KV, RELAY_PORT, ...env }: Env,
): Promise<{ relay: Program; url: string }> {
  const path = RELAY_KV === ":memory:" ? RELAY_KV : `${RELAY_KV}.sqlite`;
  const kv = await startDenokv((await findDenokv())!, path);
  const shared = { RELAY_KV: kv.url, DENO_KV_ACCESS_TOKEN: TOKEN, RELAY_SECRET: SECRET };
  const instances: Program[] = [], urls: string[] = [];
  try {
    for (let n = 0; n < count; n++) {
      const { relay, url } = await start({ ...env, ...shared, RELAY_PORT: "0" });
      instances.push(relay);
      urls.push(url);
    }
    const proxy = roundRobin(urls, Number(RELAY_PORT ?? 0));
    return { relay: joined(instances, proxy, kv), url: proxy.url };
  } catch (error) {
    await Promise.all([...instances, kv].map((program) => program.kill()));
    throw error;
  }
}

/** Several instances and what they need as one program. */
function joined(
  instances: readonly Program[],
  proxy: Disposable,
  kv: { kill(): Promise<void> },
): Program {
  /** The status of the first that failed, or of any. */
  const endOf = async (ends: readonly Promise<Deno.CommandStatus>[]) => {
    const all = await Promise.all(ends);
    return all.find(({ success }) => !success) ?? all[0]!;
  };
  let closed: Promise<void> | null = null;
  const close = () => {
    if (closed === null) proxy[Symbol.dispose]();
    return closed ??= kv.kill();
  };
  const [first] = instances;
  return {
    pid: first!.pid,
    ended: endOf(instances.map(({ ended }) => ended)),
    get lines() {
      return instances.flatMap(({ lines }) => lines);
    },
    line: (...args) => first!.line(...args),
    async kill() {
      await Promise.all(instances.map((instance) => instance.kill()));
      await close();
    },
    async stop() {
      const status = await endOf(instances.map((instance) => instance.stop()));
      await close();
      return status;
    },
  };
}
