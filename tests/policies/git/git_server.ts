import { Buffer } from "node:buffer";

/** A folder of bare repositories, served by `git http-backend`. */
export interface GitServer extends AsyncDisposable {
  readonly url: string;
  /** Creates an empty repository `<name>.git`; without compression for incompressible files. */
  create(name: string, more?: { readonly compressed: boolean }): Promise<Repository>;
  /** The credentials that requests must carry from now on; null for none. */
  requireBasic(user: string, password: string): void;
  /** Leaves every request unanswered from now on. */
  hang(): void;
  /** Requests received, as `METHOD path?query`. */
  readonly seen: string[];
}

/** A repository on the server, with a working folder to commit from. */
export interface Repository {
  readonly url: string;
  /** Commits these files instead of all others on a branch, and pushes; answers the commit. */
  push(branch: string, files: Readonly<Record<string, string | Uint8Array>>, more?: {
    /** Forgets the branch's history. */
    readonly force?: boolean;
  }): Promise<string>;
}

const ENV = {
  GIT_AUTHOR_NAME: "A",
  GIT_AUTHOR_EMAIL: "a@example.com",
  GIT_COMMITTER_NAME: "A",
  GIT_COMMITTER_EMAIL: "a@example.com",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_TERMINAL_PROMPT: "0",
};

async function git(cwd: string, ...args: string[]): Promise<string> {
  const command = new Deno.Command("git", { args, cwd, env: { ...ENV, HOME: cwd } });
  const { code, stdout, stderr } = await command.output();
  const text = new TextDecoder().decode(stdout).trim();
  if (code === 0) return text;
  throw new Error(`git ${args.join(" ")}: ${text}${new TextDecoder().decode(stderr)}`);
}

/** Starts a server over a folder of its own. */
export async function startGitServer(): Promise<GitServer> {
  const root = await Deno.makeTempDir({ prefix: "relay-git-" });
  const state = { authorization: null as string | null, hanging: false };
  const seen: string[] = [];
  const stop = new AbortController();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    const { pathname, search } = new URL(request.url);
    seen.push(`${request.method} ${pathname}${search}`);
    if (state.hanging) {
      return new Promise<Response>((resolve) => {
        stop.signal.addEventListener("abort", () => resolve(new Response(null, { status: 503 })));
      });
    }
    const { authorization } = state;
    if (authorization !== null && request.headers.get("authorization") !== authorization) {
      const headers = { "www-authenticate": 'Basic realm="git"' };
      return new Response("who are you?", { status: 401, headers });
    }
    return runBackend(root, request);
  });
  const url = `http://127.0.0.1:${server.addr.port}`;
  return {
    url,
    seen,
    requireBasic(user, password) {
      state.authorization = `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
    },
    hang() {
      state.hanging = true;
    },
    async create(name, { compressed } = { compressed: true }) {
      const bare = `${root}/${name}.git`;
      await git(root, "init", "-q", "--bare", "-b", "main", bare);
      const work = `${root}/${name}.work`;
      await Deno.mkdir(work);
      await git(work, "init", "-q");
      for (const folder of compressed ? [] : [work, bare]) {
        await git(folder, "config", "core.compression", "0");
      }
      return { url: `${url}/${name}.git`, push: (...args) => push(work, bare, ...args) };
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await server.shutdown();
      await Deno.remove(root, { recursive: true });
    },
  };
}

async function push(
  work: string,
  bare: string,
  branch: string,
  files: Readonly<Record<string, string | Uint8Array>>,
  { force = false }: { readonly force?: boolean } = {},
): Promise<string> {
  const ref = `refs/heads/${branch}`;
  const head = await git(bare, "rev-parse", "-q", "--verify", ref).catch(() => null);
  await git(work, "checkout", "-q", "--orphan", `w${crypto.randomUUID()}`);
  if (head !== null && !force) {
    await git(work, "fetch", "-q", bare, ref);
    await git(work, "reset", "-q", "--soft", "FETCH_HEAD");
  }
  for await (const { name } of Deno.readDir(work)) {
    if (name !== ".git") await Deno.remove(`${work}/${name}`, { recursive: true });
  }
  for (const [path, content] of Object.entries(files)) {
    const folder = path.split("/").slice(0, -1).join("/");
    await Deno.mkdir(`${work}/${folder}`, { recursive: true });
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    await Deno.writeFile(`${work}/${path}`, bytes);
  }
  await git(work, "add", "-A");
  await git(work, "commit", "-q", "--allow-empty", "-m", "a change");
  await git(work, "push", "-q", ...(force ? ["-f"] : []), bare, `HEAD:${ref}`);
  return await git(work, "rev-parse", "HEAD");
}

/** One request through the CGI program that every Git installation has. */
async function runBackend(root: string, request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const body = new Uint8Array(await request.arrayBuffer());
  const child = new Deno.Command("git", {
    args: ["http-backend"],
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
    clearEnv: true,
    env: {
      PATH: Deno.env.get("PATH") ?? "",
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: "1",
      GIT_CONFIG_NOSYSTEM: "1",
      HOME: root,
      REQUEST_METHOD: request.method,
      PATH_INFO: decodeURIComponent(pathname),
      QUERY_STRING: search.slice(1),
      CONTENT_TYPE: request.headers.get("content-type") ?? "",
      CONTENT_LENGTH: String(body.length),
      GIT_PROTOCOL: request.headers.get("git-protocol") ?? "",
      REMOTE_ADDR: "127.0.0.1",
    },
  }).spawn();
  const writer = child.stdin.getWriter();
  writer.write(body).then(() => writer.close()).catch(() => {});
  return await readCgi(child.stdout);
}

/** A CGI answer: headers, an empty line, and a body that streams. */
async function readCgi(stdout: ReadableStream<Uint8Array>): Promise<Response> {
  const reader = stdout.getReader();
  let head = Buffer.alloc(0);
  let end = -1;
  while (end < 0) {
    const { value, done } = await reader.read();
    if (done) return new Response("no head", { status: 502 });
    head = Buffer.concat([head, value]);
    end = head.indexOf("\r\n\r\n");
  }
  const headers = new Headers();
  let status = 200;
  for (const line of head.subarray(0, end).toString("latin1").split("\r\n")) {
    const colon = line.indexOf(":");
    const [name, value] = [line.slice(0, colon), line.slice(colon + 1).trim()];
    if (name.toLowerCase() === "status") status = Number(value.split(" ")[0]);
    else headers.append(name, value);
  }
  const rest = head.subarray(end + 4);
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => rest.length > 0 && controller.enqueue(rest),
    async pull(controller) {
      const { value, done } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: () => reader.cancel(),
  });
  return new Response(body, { status, headers });
}
