import { ok, strictEqual as eq } from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { getuid } from "node:process";
import { freePort } from "../cluster/denokv.ts";
import { START_MS, withFolder } from "../support/processes.ts";
import { instructionOf, pathOf, stagesOf, textOf } from "./files.ts";

const STAGES = stagesOf(textOf("deploy/Dockerfile"));
const IMAGE = STAGES.get("relay")!;
const words = (json: string): string[] => JSON.parse(json);
/** The user of the image, if this test may become it. */
const ROOT = getuid?.() === 0;
const USER = Number(instructionOf(IMAGE, "USER").split(":")[0]);
/** What programs take at most at their first line. The relay takes 106 MiB, or 200 if it parses its program. */
const RELAY_MIB = 160;
/** The agent takes 73 MiB, or 170. */
const AGENT_MIB = 120;

/** Copies what the build gets to see. */
async function copyContext(folder: string): Promise<void> {
  const patterns = textOf("deploy/Dockerfile.dockerignore").split("\n").filter((line) =>
    /^[^#]/.test(line)
  );
  eq(patterns[0], "*", "everything else is left out");
  const names = patterns.slice(1).map((line) => line.replace(/^!/, ""));
  const { success } = await new Deno.Command("cp", {
    args: ["-r", "--parents", ...names, folder],
    cwd: pathOf(""),
  }).output();
  ok(success);
}

/** Where a path of the build or an image is in a folder that stands for the image. */
const placeIn = (folder: string, path: string) => path.replace(/^\/app(?=\/)/, folder);

/** The variables that an ENV instruction sets. */
const environmentOf = (folder: string, instruction: string): Record<string, string> =>
  Object.fromEntries(
    instruction.split(" ").map((pair) => {
      const [name, value] = pair.split("=") as [string, string];
      return [name, placeIn(folder, value)];
    }),
  );

/** Runs the Deno commands of the build in a folder. */
async function build(folder: string): Promise<void> {
  let env: Record<string, string> = {};
  for (const [instruction, value] of STAGES.get("build")!) {
    if (instruction === "ENV") env = { ...env, ...environmentOf(folder, value) };
    if (instruction !== "RUN") continue;
    const commands = value.split(/ && | \|\| /).filter((each) => each.startsWith("deno "));
    for (const command of commands) {
      const { success, stderr } = await new Deno.Command(Deno.execPath(), {
        args: command.split(/ +/).slice(1).map((word) => placeIn(folder, word)),
        cwd: folder,
        env: { NO_COLOR: "1", ...env },
      }).output();
      ok(success, new TextDecoder().decode(stderr));
    }
  }
}

/** Where a path of an image is in the folder of the build. @throws {Error} when the image has no such path */
function builtFor(folder: string, stage: string, path: string): string {
  const copies = STAGES.get(stage)!.map(([name, value]) =>
    name === "COPY" ? /^--from=build (?:--chown=\S+ )?(\S+) (\S+)$/.exec(value) : null
  );
  const here = copies.some((copy) =>
    copy !== null && copy[1] === copy[2] && `${path}/`.startsWith(`${copy[2]}/`)
  );
  if (!here) throw new Error(`the image ${stage} has no ${path}, or the build had it elsewhere`);
  return placeIn(folder, path);
}

/** Starts programs of an image that was built in a folder, with the image's user and variables. */
function imageIn(folder: string, name: string) {
  const stage = STAGES.get(name)!;
  const variables = environmentOf(folder, instructionOf(stage, "ENV"));
  eq(builtFor(folder, name, "/app/dist/cache"), variables.DENO_DIR);
  const start = ([program, ...args]: readonly string[], env: Record<string, string>) => {
    eq(program, "/bin/deno");
    return new Deno.Command(Deno.execPath(), {
      args: args.map((arg) => arg.startsWith("/app/") ? builtFor(folder, name, arg) : arg),
      clearEnv: true,
      env: { ...variables, ...env },
      cwd: "/",
      ...(ROOT && { uid: USER, gid: USER }),
      stdout: "piped",
      stderr: "piped",
      stdin: "null",
    }).spawn();
  };
  return { variables, start, entry: words(instructionOf(stage, "ENTRYPOINT")) };
}

/** Reads output until it matches. @throws {Error} when it ends before, or lasts too long */
async function untilSaid(
  process: Deno.ChildProcess,
  output: ReadableStreamDefaultReader<string>,
  pattern: RegExp,
): Promise<void> {
  const late = setTimeout(() => process.kill("SIGKILL"), START_MS);
  try {
    for (let said = ""; !pattern.test(said);) {
      const { done, value } = await output.read();
      if (done) throw new Error(`it ended:\n${said}`);
      said += value;
    }
  } finally {
    clearTimeout(late);
  }
}

const textFrom = (pipe: ReadableStream<Uint8Array<ArrayBuffer>>) =>
  pipe.pipeThrough(new TextDecoderStream()).getReader();

/** Stops a process, and reads the rest of its output; resolves to its exit code. */
async function stop(
  process: Deno.ChildProcess,
  output: ReadableStreamDefaultReader<string>,
): Promise<number> {
  process.kill(instructionOf(IMAGE, "STOPSIGNAL") as Deno.Signal);
  while (!(await output.read()).done);
  return (await process.status).code;
}

/** The most memory that a process had so far, in MiB. */
function peakMiB({ pid }: Deno.ChildProcess): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmHWM:\s+(\d+)/m.exec(status)![1]) / 1024;
}

/** Sets the modes of a folder and of the files in it. */
async function setModes(folder: string, ofFolders: number, ofFiles: number): Promise<void> {
  for (const { name, isDirectory } of [...Deno.readDirSync(folder)]) {
    if (isDirectory) await setModes(`${folder}/${name}`, ofFolders, ofFiles);
    else await Deno.chmod(`${folder}/${name}`, ofFiles);
  }
  await Deno.chmod(folder, ofFolders);
}

Deno.test("deploy/Dockerfile: what the build sees makes programs that start as their user with the build's cache", async (t) => {
  await withFolder(async (folder) => {
    await copyContext(folder);
    await build(folder);
    await Deno.chmod(folder, 0o755);
    const data = `${folder}/data`;
    await Deno.mkdir(data);
    if (ROOT) await Deno.chown(data, USER, USER);
    // Nobody may write the cache of the relay's image.
    const cache = `${folder}/dist/cache`;
    await setModes(cache, 0o555, 0o444);
    try {
      await t.step("the relay serves, and checks its own health", () => checkRelay(folder, data));
      await t.step("the agent looks for its relay", () => checkAgent(folder, data));
    } finally {
      await setModes(cache, 0o755, 0o644);
    }
  });
});

async function checkRelay(folder: string, data: string): Promise<void> {
  const { variables, start, entry } = imageIn(folder, "relay");
  eq(variables.RELAY_HOST, "0.0.0.0");
  const env = {
    RELAY_HOST: "127.0.0.1",
    RELAY_PUBLIC_URL: "http://relay.example",
    RELAY_KV: variables.RELAY_KV!.replace("/data", data),
    RELAY_PORT: `${freePort()}`,
  };
  const check = words(instructionOf(IMAGE, "HEALTHCHECK").split(" CMD ")[1]!);
  const relay = start([...entry, ...words(instructionOf(IMAGE, "CMD"))], env);
  const output = textFrom(relay.stdout);
  await untilSaid(relay, output, /claim_code/);
  const mib = peakMiB(relay);
  ok(mib < RELAY_MIB, `${mib} MiB: it parsed its program, so it did not use the cache`);
  const healthy = await start(check, env).output();
  eq(healthy.code, 0, new TextDecoder().decode(healthy.stderr));
  await relay.stderr.cancel();
  eq(await stop(relay, output), 0);
  eq((await start(check, env).output()).code, 1, "a relay that is gone is not healthy");
  ok(existsSync(env.RELAY_KV));
}

async function checkAgent(folder: string, data: string): Promise<void> {
  const { start, entry } = imageIn(folder, "agent");
  const args = ["agent", "--url", `http://127.0.0.1:${freePort()}`, "--state", `${data}/agent`];
  const agent = start([...entry, ...args], { RELAY_TOKEN: "svc_live_unknown" });
  const output = textFrom(agent.stderr);
  await untilSaid(agent, output, /no link to/);
  const mib = peakMiB(agent);
  ok(mib < AGENT_MIB, `${mib} MiB: it parsed its program, so it did not use the cache`);
  await agent.stdout.cancel();
  eq(await stop(agent, output), 0);
}

Deno.test("deploy/Dockerfile: both images run as a user without rights, with the store on a volume", () => {
  for (const name of ["relay", "agent"]) {
    const stage = STAGES.get(name)!;
    ok(USER > 1_000 && instructionOf(stage, "USER") === `${USER}:${USER}`, name);
    eq(instructionOf(stage, "VOLUME"), "/data");
  }
});
