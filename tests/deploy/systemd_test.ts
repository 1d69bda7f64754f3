import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { getuid } from "node:process";
import { clientOf } from "../clients/status_client.ts";
import {
  isInstalled,
  makeKey,
  runProgram,
  signUpOwner,
  startRelayProcess,
  withFolder,
} from "../support/processes.ts";
import { pathOf, textOf } from "./files.ts";

const SYSTEMD = isInstalled("systemd-analyze");
const UNITS = [
  "relay.service",
  "relay-agent.service",
  "relay-backup.service",
  "relay-backup.timer",
];
const PROGRAM = "/usr/local/bin/relay";
/** The time that a stop takes at most: requests get 4 s and the store 15 s. */
const STOP_SECONDS = 19;

const unit = (name: string) => textOf(`deploy/systemd/${name}`);
/** The values of a setting, in order. */
const settings = (text: string, name: string): string[] =>
  [...text.matchAll(new RegExp(`^${name}=(.*)$`, "gm"))].map(([, value]) => value!);

Deno.test({
  name: "deploy/systemd: systemd accepts the units (needs systemd-analyze)",
  ignore: !SYSTEMD,
  fn: () =>
    withFolder(async (folder) => {
      // The program need not be installed where the tests run.
      await Deno.copyFile(Deno.execPath(), `${folder}/relay`);
      for (const name of UNITS) {
        await Deno.writeTextFile(
          `${folder}/${name}`,
          unit(name).replaceAll(PROGRAM, `${folder}/relay`),
        );
      }
      const { success, text } = await runProgram("systemd-analyze", [
        "verify",
        "--man=no",
        ...UNITS.map((name) => `${folder}/${name}`),
      ]);
      // It also complains about units of the machine.
      deq([success, text.split("\n").filter((line) => line.includes("relay"))], [true, []], text);
    }),
});

Deno.test({
  name:
    "deploy/systemd: the relay is exposed less than 2.5, the agent less than 6 (needs systemd-analyze)",
  ignore: !SYSTEMD,
  async fn() {
    for (const [name, threshold] of [["relay.service", "25"], ["relay-agent.service", "60"]]) {
      const { success, text } = await runProgram("systemd-analyze", [
        "security",
        "--offline=true",
        "--no-pager",
        `--threshold=${threshold}`,
        pathOf(`deploy/systemd/${name}`),
      ]);
      ok(success, text);
    }
  },
});

Deno.test("deploy/systemd: the relay and its backup share user, settings and store", () => {
  const [relay, backup] = [unit("relay.service"), unit("relay-backup.service")];
  for (const name of ["User", "Group", "Environment", "EnvironmentFile"]) {
    ok(settings(relay, name).length > 0, name);
    deq(settings(backup, name), settings(relay, name), name);
  }
  const [kv] = settings(relay, "Environment");
  const [state] = settings(relay, "StateDirectory");
  ok(kv!.startsWith(`RELAY_KV=/var/lib/${state}/`), kv);
  ok(textOf("docs/backup.md").includes("user `relay`"), "the guide names the user");
  deq(settings(unit("relay-backup.timer"), "OnCalendar"), ["daily"]);
  // Without it the disk fills, and no backup fits any more.
  ok(settings(backup, "ExecStart")[0]!.includes(" --keep "), "old backups are removed");
});

Deno.test("deploy/systemd: each file says where it goes, and the units read relay.env there", () => {
  for (const name of UNITS) eq(unit(name).split("\n")[0], `# /etc/systemd/system/${name}`);
  const [, path] = /^# (\S+), mode 0600, owned by root\./.exec(unit("relay.env"))!;
  deq(settings(unit("relay.service"), "EnvironmentFile"), [`-${path}`]);
});

Deno.test("deploy/systemd: a stop has the time that it needs", () => {
  for (const name of ["relay.service", "relay-agent.service"]) {
    const [seconds] = settings(unit(name), "TimeoutStopSec");
    ok(Number.parseInt(seconds!) > STOP_SECONDS, name);
  }
});

Deno.test({
  name:
    "deploy/systemd: an agent with the unit's capabilities runs commands as another user, without a way back (needs root and setpriv)",
  ignore: getuid?.() !== 0 || !isInstalled("setpriv"),
  fn: () =>
    withFolder(async (folder) => {
      const text = unit("relay-agent.service");
      deq(settings(text, "NoNewPrivileges"), ["yes"]);
      const capabilities = settings(text, "CapabilityBoundingSet")[0]!.split(" ")
        .map((name) => `+${name.replace(/^CAP_/, "").toLowerCase()}`);
      const { relay, url } = await startRelayProcess({ RELAY_KV: ":memory:" });
      const owner = clientOf(url, await signUpOwner(clientOf(url)));
      const limits = ["--no-new-privs", `--bounding-set=-all,${capabilities.join(",")}`];
      const agent = new Deno.Command("setpriv", {
        args: [
          ...limits,
          "--inh-caps=-all",
          Deno.execPath(),
          ...["run", "-A", pathOf("main.ts"), "agent", "--url", url],
          ...["--state", `${folder}/agent`, "--run-as", "nobody", "--name", "limited"],
        ],
        env: { RELAY_TOKEN: await makeKey(owner, ["agents:admin"]) },
        stdin: "null",
        stdout: "piped",
        stderr: "null",
      }).spawn();
      try {
        const lines = agent.stdout.pipeThrough(new TextDecoderStream()).getReader();
        let said = "";
        while (!/^connected to /m.test(said)) {
          const { done, value } = await lines.read();
          ok(!done, `the agent ended: ${said}`);
          said += value;
        }
        const command = encodeURIComponent(
          "id -un; grep -E 'NoNewPrivs|CapBnd|CapEff' /proc/self/status",
        );
        const { status, body } = await owner<{ stdout: string }>(
          "GET",
          `/api/exec/limited?command=${command}`,
        );
        eq(status, 200, JSON.stringify(body));
        const [user, ...facts] = body.stdout.trim().split("\n");
        eq(user, "nobody");
        const fact = (name: string) =>
          facts.find((line) => line.startsWith(name))!.split(/\s+/)[1]!;
        deq([fact("NoNewPrivs"), BigInt(`0x${fact("CapEff")}`)], ["1", 0n]);
        const bits = BigInt(`0x${fact("CapBnd")}`).toString(2).replaceAll("0", "").length;
        eq(bits, capabilities.length);
      } finally {
        agent.kill();
        await agent.status;
        await relay.stop();
      }
    }),
});
