import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { withFolder } from "../support/processes.ts";

const ROOT = new URL("../../", import.meta.url);

/** The commands that the first page shows, without their comments. */
async function firstCommands(): Promise<string[]> {
  const page = await Deno.readTextFile(new URL("README.md", ROOT));
  const [block = ""] = /(?<=^```\n)alias relay=[^`]*/m.exec(page) ?? [];
  return block.trimEnd().split("\n").slice(1)
    .map((line) => line.replace(/\s+#.*$/, "").replace(/ &$/, ""));
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

Deno.test("README: its first commands lead from a clone to the live output of a paired machine", async () => {
  const [serve, login, pair, agent, exec, ...others] = await firstCommands();
  deq(others, []);
  await withFolder(async (folder) => {
    const url = `http://127.0.0.1:${freePort()}`;
    const relay = `#!/bin/sh\nexec "${Deno.execPath()}" run -A "${ROOT.pathname}main.ts" "$@"\n`;
    await Deno.mkdir(`${folder}/bin`);
    await Deno.writeTextFile(`${folder}/bin/relay`, relay, { mode: 0o755 });
    const start = (line: string) =>
      new Deno.Command("bash", {
        args: ["-c", line],
        cwd: folder,
        env: {
          HOME: folder,
          PATH: `${folder}/bin:${Deno.env.get("PATH")}`,
          DENO_DIR: Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`,
          RELAY_PORT: new URL(url).port,
          RELAY_URL: url,
        },
        stdin: "null",
        stdout: "piped",
        stderr: "null",
      }).spawn();
    const running = new Set<Deno.ChildProcess>();
    /** Starts a line; the function finds the next text in its output. */
    const background = (line: string) => {
      const child = start(line);
      running.add(child);
      child.status.then(() => running.delete(child));
      const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      return async (pattern: RegExp): Promise<string> => {
        for (;;) {
          const found = pattern.exec(text);
          if (found !== null) {
            text = text.slice(found.index + found[0].length);
            return found[0];
          }
          const { done, value } = await output.read();
          ok(!done, `${line} did not print ${pattern}: ${text}`);
          text += value;
        }
      };
    };
    try {
      await background(serve!)(/is ready/);
      eq((await start(login!).output()).code, 0);
      const pairing = background(pair!);
      const line = await pairing(/relay agent pair .*(?=\n)/);
      const shown = line.replace(url, "http://127.0.0.1:9081").replace(/(?<=--code )\S+/, "<code>");
      eq(shown, agent);
      const [there, keep] = line.split(" && ");
      eq((await start(there!).output()).code, 0);
      background(keep!);
      await pairing(/paired +web-1/);
      const next = background(exec!);
      for (const number of [1, 2, 3]) eq(await next(/.*\n/), `${number}\n`);
    } finally {
      for (const child of running) {
        child.kill("SIGTERM");
        await child.status;
      }
    }
  });
});
