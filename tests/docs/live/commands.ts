import { deepStrictEqual as deq, match, ok, strictEqual as eq } from "node:assert/strict";
import { blockWith } from "../blocks.ts";
import type { Walk } from "./world.ts";

/** The walks over the pages about running commands and deciding on them. */
export const COMMANDS: Readonly<Record<string, (walk: Walk) => Promise<void>>> = {
  async "cli.md"(walk) {
    const { world } = walk;
    const { machine, owner } = world;
    const terminal = { XDG_CONFIG_HOME: `${machine.folder}/terminal` };
    const login = walk.start("relay login --url relay.example.com\n", terminal);
    const [code] = await login.until(/(?<=--confirm )\S+/);
    const confirming = walk.text("--confirm", { "7K3M-QX1D": code });
    await machine.sh(`${confirming.trim()} --yes`, owner.env);
    await login.until(/Signed in|signed in/);
    await machine.sh("relay whoami", terminal);

    const people = walk.text("--sign-up", { "--sign-up Me": "--sign-up Others" }).trim().split(
      "\n",
    );
    const { body: invitation } = await owner.api<{ invite_code: string }>(
      "POST",
      "/api/v1/invitations",
      {},
    );
    await Deno.writeTextFile(`${machine.folder}/password.txt`, "correct horse 7\n");
    const [signUp, join] = people;
    await machine.sh(signUp!, { XDG_CONFIG_HOME: `${machine.folder}/me` });
    await machine.sh(
      join!.replace("me@", "guest@").replace("<code>", invitation.invite_code),
      { XDG_CONFIG_HOME: `${machine.folder}/guest` },
    );

    await Deno.writeTextFile(`${machine.folder}/key.txt`, world.key);
    await walk.run("--token-stdin", { XDG_CONFIG_HOME: `${machine.folder}/build` });
    await walk.run("xargs");
    const pairing = walk.start("relay pair web-1");
    await pairing.until(/relay agent pair --url \S+ --name web-1 --code \S+/);
    await pairing.stop();
    const { code: exit } = await machine.end(walk.text("exit 7"), owner.env);
    eq(exit, 7);
    match((await walk.run("relay shield test")).stdout, /held or denied: \d+/);
    match((await walk.run("--stop-after-failures")).stdout, /load average/);
  },

  async "fleet-commands.md"(walk) {
    const { stdout } = await walk.run("relay exec -l");
    eq([...stdout.matchAll(/load average/g)].length, 2);
    match(stdout, /"parallel":50/);
  },

  async "command-lists.md"(walk) {
    const { stdout } = await walk.run("/api/v1/commands?", { KEY: walk.world.key });
    ok(Array.isArray(JSON.parse(stdout).commands));
  },

  async "approvals.md"(walk) {
    const { world } = walk;
    const { owner, colleague, machine } = world;
    const ask = async (env: Readonly<Record<string, string>>, agent: string) => {
      const { stdout } = await walk.run("/api/exec/", { ...env, AGENT_ID: agent });
      const shown = blockWith(walk.page, "/api/exec/").text;
      const answer = JSON.parse(stdout);
      for (const [, name] of shown.matchAll(/"(\w+)": "/g)) ok(name! in answer, name);
      eq(answer.status, "pending_approval");
      return answer.approval_id;
    };
    const [approved, rejected] = [await ask(owner.env, "web-1"), await ask(owner.env, "web-2")];
    const decide = walk.text("/api/shield/approvals?");
    // One request is approved and another one is rejected.
    const at = decide.indexOf("curl", decide.indexOf("/approve/"));
    await machine.sh(decide.slice(0, at), { ...colleague.env, PID: approved });
    await machine.sh(decide.slice(at), { ...colleague.env, PID: rejected });
    const statusOf = async (id: string) =>
      (await owner.api<{ status: string }>("GET", `/api/shield/approvals/${id}`)).body.status;
    deq([await statusOf(approved), await statusOf(rejected)], ["approved", "rejected"]);

    const alone = await world.person("alone");
    await world.agent("own", "", alone);
    const own = await ask(alone.env, "own");
    const { stdout } = await walk.run("confirm_self_approval", { ...alone.env, PID: own });
    match(stdout, /"status":"approved"/);
  },

  async "devices.md"(walk) {
    const { machine, owner } = walk.world;
    const [pair, there, later] = walk.text("relay pair web-1").replaceAll(/ +#.*$/gm, "").split(
      "\n",
    );
    const waiting = machine.start(pair!, owner.env);
    const [, code] = await waiting.until(/relay agent pair .*--code (\S+)/);
    const home = { XDG_STATE_HOME: `${machine.folder}/vm` };
    const line = there!.replace(/--code \S+/, `--code ${code}`);
    const first = machine.start(line, home);
    const [, name] = await first.until(/connected to .*? as (\S+)/);
    await first.stop();
    const again = machine.start(later!, home);
    await again.until(/^connected to /m);
    await owner.api("PATCH", `/api/v1/agents/${name}`, { name: "vm" });
    const { stdout } = await walk.run("/api/v1/agents/vm", owner.env, { '"web-1"': '"web-3"' });
    deq(JSON.parse(stdout).relay_labels, { env: "prod" });
    await again.stop();
  },

  async "upgrades.md"(walk) {
    const { stdout } = await walk.run("relay agents ls --outdated");
    match(stdout, /agents .*of .* online/);
  },

  async "agent-protocol.md"(walk) {
    const { machine, key } = walk.world;
    const { body } = await walk.world.owner.api<{ agents: { id: string }[] }>(
      "GET",
      "/api/v1/agents",
    );
    const text = walk.text("/api/v1/heartbeat", { agt_01: body.agents[0]!.id });
    const { stdout } = await machine.sh(text, { AGENT_CREDENTIAL: key });
    ok("verified" in JSON.parse(stdout));
  },
};
