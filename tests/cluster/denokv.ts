/** The access token of every denokv server here. */
export const TOKEN = "0123456789abcdef0123456789abcdef";
/** The secret of every instance here. */
export const SECRET = "cluster secret cluster secret cluster secret";

/** The denokv program on the path, or of DENOKV; null when there is none. */
export async function findDenokv(): Promise<string | null> {
  const named = Deno.env.get("DENOKV");
  if (named !== undefined) return named;
  for (const folder of (Deno.env.get("PATH") ?? "").split(":")) {
    const path = `${folder}/denokv`;
    if (await Deno.stat(path).then(({ isFile }) => isFile, () => false)) return path;
  }
  return null;
}

/** A running denokv server. */
export interface Denokv {
  readonly url: string;
  /** Stops it from answering, like a lost network, until `resume`. */
  pause(): void;
  resume(): void;
  kill(): Promise<void>;
}

/** Starts a denokv server over a file, on a free port or the given one. */
export async function startDenokv(
  program: string,
  path: string,
  port = freePort(),
): Promise<Denokv> {
  const child = new Deno.Command(program, {
    args: ["--sqlite-path", path, "serve", "--addr", `127.0.0.1:${port}`],
    env: { DENO_KV_ACCESS_TOKEN: TOKEN },
    stdout: "null",
    stderr: "piped",
  }).spawn();
  let ended = false;
  child.status.then(() => ended = true);
  let text = "";
  const reader = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  while (!text.includes("Listening")) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`denokv ended before it was ready: ${text}`);
    text += value;
  }
  const drained = (async () => {
    while (!(await reader.read()).done);
  })();
  return {
    url: `http://127.0.0.1:${port}`,
    pause: () => child.kill("SIGSTOP"),
    resume: () => child.kill("SIGCONT"),
    async kill() {
      if (!ended) child.kill("SIGKILL");
      await Promise.all([child.status, drained]);
    },
  };
}

/** A port that nobody listens on now. */
export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return (listener.addr as Deno.NetAddr).port;
}
