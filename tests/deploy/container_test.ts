import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { existsSync } from "node:fs";
import { getuid } from "node:process";
import { parse } from "yaml";
import { freePort } from "../cluster/denokv.ts";
import { START_MS, withFolder } from "../support/processes.ts";
import { DEPLOYED, instructionOf, pathOf, stagesOf, textOf } from "./files.ts";

const STAGES = stagesOf(textOf("deploy/Dockerfile"));
const IMAGE = STAGES.get("relay")!;
const words = (json: string): string[] => JSON.parse(json);
/** The user of the image, if this test may become it. */
const ROOT = getuid?.() === 0;
const USER = Number(instructionOf(IMAGE, "USER").split(":")[0]);
const CACHE = "/app/dist/cache";
/** A relay that parses its parts takes 210 MiB; one that knows them takes 125. */
const PARSED_MIB = 170;

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
    for (const command of value.split(" && ").filter((each) => each.startsWith("deno "))) {
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
    name === "COPY" ? /^--from=build (\S+) (\S+)$/.exec(value) : null
  );
  const here = copies.some((copy) =>
    copy !== null && copy[1] === copy[2] && `${path}/`.startsWith(`${copy[2]}/`)
  );
  if (!here) throw new Error(`the image ${stage} has no ${path}, or the build had it elsewhere`);
  return placeIn(folder, path);
}

Deno.test("deploy/Dockerfile: what the build sees makes a program that serves as its user, and checks its own health", async () => {
  await withFolder(async (folder) => {
    await copyContext(folder);
    await build(folder);
    await Deno.chmod(folder, 0o755);
    const data = `${folder}/data`;
    await Deno.mkdir(data);
    if (ROOT) await Deno.chown(data, USER, USER);
    const image = environmentOf(folder, instructionOf(IMAGE, "ENV"));
    eq(image.RELAY_HOST, "0.0.0.0");
    const env = {
      ...image,
      RELAY_HOST: "127.0.0.1",
      RELAY_PUBLIC_URL: "http://relay.example",
      RELAY_KV: image.RELAY_KV!.replace("/data", data),
      RELAY_PORT: `${freePort()}`,
    };
    const start = (args: readonly string[]) => {
      const [program, ...rest] = args;
      eq(program, "/bin/deno");
      return new Deno.Command(Deno.execPath(), {
        args: rest.map((arg) => arg.startsWith("/app/") ? builtFor(folder, "relay", arg) : arg),
        clearEnv: true,
        env,
        cwd: "/",
        ...(ROOT && { uid: USER, gid: USER }),
        stdout: "piped",
        stderr: "piped",
        stdin: "null",
      }).spawn();
    };
    const check = words(instructionOf(IMAGE, "HEALTHCHECK").split(" CMD ")[1]!);
    const relay = start([
      ...words(instructionOf(IMAGE, "ENTRYPOINT")),
      ...words(instructionOf(IMAGE, "CMD")),
    ]);
    const lines = relay.stdout.pipeThrough(new TextDecoderStream()).getReader();
    const late = setTimeout(() => relay.kill("SIGKILL"), START_MS);
    let said = "";
    while (!/claim_code/.test(said)) {
      const { done, value } = await lines.read();
      ok(!done, said);
      said += value;
    }
    clearTimeout(late);
    const status = await Deno.readTextFile(`/proc/${relay.pid}/status`);
    const peakMiB = Number(/^VmHWM:\s+(\d+)/m.exec(status)![1]) / 1024;
    ok(
      peakMiB < PARSED_MIB,
      `${peakMiB} MiB: the program was parsed, so the image's cache is not used`,
    );
    const healthy = await start(check).output();
    eq(healthy.code, 0, new TextDecoder().decode(healthy.stderr));
    relay.kill(instructionOf(IMAGE, "STOPSIGNAL") as Deno.Signal);
    while (!(await lines.read()).done);
    await relay.stderr.cancel();
    eq((await relay.status).code, 0);
    eq((await start(check).output()).code, 1, "a relay that is gone is not healthy");
    ok(existsSync(env.RELAY_KV));
    const agent = words(instructionOf(STAGES.get("agent")!, "ENTRYPOINT")).at(-1)!;
    ok(existsSync(builtFor(folder, "agent", agent)));
    const agentEnv = environmentOf(folder, instructionOf(STAGES.get("agent")!, "ENV"));
    eq(agentEnv.DENO_DIR, image.DENO_DIR);
    for (const stage of ["relay", "agent"]) eq(builtFor(folder, stage, CACHE), image.DENO_DIR);
  });
});

Deno.test("deploy/Dockerfile: both images run as a user without rights, with the store on a volume", () => {
  for (const name of ["relay", "agent"]) {
    const stage = STAGES.get(name)!;
    ok(USER > 1_000 && instructionOf(stage, "USER") === `${USER}:${USER}`, name);
    eq(instructionOf(stage, "VOLUME"), "/data");
  }
});

interface Service {
  readonly build?: {
    readonly context: string;
    readonly dockerfile: string;
    readonly target: string;
  };
  readonly image: string;
  readonly volumes?: readonly string[];
  readonly secrets?: readonly string[];
  readonly ports?: readonly string[];
  readonly depends_on?:
    | Readonly<Record<string, { readonly condition: string }>>
    | readonly string[];
  readonly stop_grace_period?: string;
  readonly cap_drop: readonly string[];
  readonly security_opt: readonly string[];
}

Deno.test("deploy/compose.yaml: files, volumes, secrets and services that it names are there", () => {
  const compose = parse(textOf("deploy/compose.yaml"));
  deq(Object.keys(compose), ["name", "services", "secrets", "volumes"]);
  const services: Record<string, Service> = compose.services;
  deq(Object.keys(services), ["relay", "agent", "prometheus", "grafana"]);
  for (const [name, service] of Object.entries(services)) {
    if (service.build !== undefined) {
      const { context, dockerfile, target } = service.build;
      deq([context, dockerfile, STAGES.has(target)], ["..", "deploy/Dockerfile", true], name);
      // Docker would kill it 10 s after the stop signal.
      eq(service.stop_grace_period, "20s", name);
    }
    for (const volume of service.volumes ?? []) {
      const [source] = volume.split(":");
      if (source!.startsWith("./")) ok(DEPLOYED.has(`deploy/${source!.slice(2)}`), volume);
      else ok(source! in compose.volumes, volume);
    }
    for (const secret of service.secrets ?? []) ok(secret in compose.secrets, secret);
    for (const port of service.ports ?? []) {
      ok(port.startsWith("127.0.0.1:"), `${name} is public: ${port}`);
    }
    for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
      if (condition !== "service_healthy") continue;
      const { target } = services[other]!.build!;
      ok(STAGES.get(target)!.some(([instruction]) => instruction === "HEALTHCHECK"), other);
    }
    deq(service.cap_drop, ["ALL"], name);
    deq(service.security_opt, ["no-new-privileges:true"], name);
  }
});

Deno.test("deploy/compose.yaml: Prometheus finds the relay, its key and its rules, and Grafana its dashboard", () => {
  const { services } = parse(textOf("deploy/compose.yaml"));
  const { rule_files, scrape_configs: [relay] } = parse(textOf("deploy/prometheus/prometheus.yml"));
  eq(relay.job_name, "relay");
  deq(relay.static_configs, [{ targets: ["relay:9081"] }]);
  deq(services.prometheus.secrets, [relay.authorization.credentials_file.split("/").at(-1)]);
  const mounted = (of: Service) => of.volumes!.map((volume) => volume.split(":")[1]!);
  for (const name of rule_files) {
    ok(mounted(services.prometheus).includes(`/etc/prometheus/${name}`));
  }
  const { providers: [provider] } = parse(textOf("deploy/grafana/dashboards.yaml"));
  ok(mounted(services.grafana).includes(`${provider.options.path}/relay.json`));
  const { datasources: [source] } = parse(textOf("deploy/grafana/datasource.yaml"));
  ok(services[new URL(source.url).hostname] !== undefined);
});
