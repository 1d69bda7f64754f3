import { match, ok, strictEqual as eq } from "node:assert/strict";
import { clientOf, expectStatus } from "../../clients/status_client.ts";
import { freePort } from "../../cluster/denokv.ts";
import { signUpOwner } from "../../support/processes.ts";
import { Machine } from "./machine.ts";
import type { Walk } from "./world.ts";

/** Stands in for systemd: the service `relay` is a process of this machine, started with its environment. */
const SYSTEMCTL = `
log="$HOME/service.log"; pid="$HOME/service.pid"
case "$1 $2" in
  "start relay")
    relay serve >"$log" 2>&1 &
    echo $! >"$pid"
    (tail --pid=$! -n +1 -F "$log" 2>/dev/null &) | grep -q -m1 " is ready "
    ;;
  "stop relay")
    kill "$(cat "$pid")"
    tail --pid="$(cat "$pid")" -f /dev/null
    ;;
  *) exit 1 ;;
esac`;

/** A machine with the service `relay`, claimed, whose address and store are in its environment. */
async function withService(use: (machine: Machine, token: string) => Promise<void>): Promise<void> {
  const port = `${freePort()}`;
  const url = `http://127.0.0.1:${port}`;
  await using machine = await Machine.make({ RELAY_PORT: port, RELAY_URL: url });
  machine.env.RELAY_KV = `${machine.folder}/var/relay.kv`;
  await machine.program("systemctl", SYSTEMCTL);
  await machine.sh("mkdir var backup safe && systemctl start relay");
  try {
    await use(machine, await signUpOwner(clientOf(url)));
  } finally {
    await machine.end("systemctl stop relay");
  }
}

/** The walks over the pages about starting and operating a relay, each on machines of their own. */
export const OPERATE: Readonly<Record<string, (walk: Walk) => Promise<void>>> = {
  async "getting-started.md"(walk) {
    const port = `${freePort()}`;
    const url = `http://127.0.0.1:${port}`;
    await using machine = await Machine.make({ RELAY_PORT: port, RELAY_URL: url });
    await machine.program("systemctl", 'echo "systemctl $*"');
    const text = (part: string) => walk.text(part).replaceAll(walk.world.url, url);
    const serving = machine.start(text("relay serve"));
    await serving.until(/ is ready /);
    const owner = clientOf(url, await signUpOwner(clientOf(url)));

    const me = { XDG_CONFIG_HOME: `${machine.folder}/me` };
    const login = machine.start(text("relay login"), me);
    const [user_code] = await login.until(/(?<=--confirm )\S+/);
    const decision = { user_code, approve: true };
    expectStatus(
      await owner("POST", "/api/account/device-login/decide", decision),
      200,
      "approving",
    );
    await login.until(/signed in/i);

    const pairing = machine.start(text("relay pair web-1"), me);
    const [printed] = await pairing.until(/relay agent pair .*/);
    const shown = text("relay agent pair").trim();
    eq(printed.replace(/(?<=--code )\S+/, "<code>"), shown);
    const agent = machine.start(printed, { XDG_STATE_HOME: `${machine.folder}/state` });
    await agent.until(/^connected to /m);
    await pairing.until(/paired +web-1/);
    eq((await machine.sh(text("for i in"), me)).stdout, "1\n2\n3\n");

    const { body } = await owner<{ invite_code: string }>("POST", "/api/v1/invitations", {
      roles: ["operator"],
    });
    const colleague = { XDG_CONFIG_HOME: `${machine.folder}/colleague` };
    await machine.sh(
      `relay login --email b@example.com --password-stdin --invite-code ${body.invite_code} <<<"correct horse 7"`,
      colleague,
    );
    const held = machine.start(text("systemctl stop nginx"), me);
    const [approval] = await held.until(/prc_\w+/);
    const decide = text("relay approvals ls").replace("<approval>", approval);
    match((await machine.sh(decide, colleague)).stdout, /prc_/);
    await held.until(/systemctl stop nginx/);
    match((await machine.sh(text("relay audit ls"), me)).stdout, /approval/);
  },

  "secrets.md": (walk) =>
    withService(async (machine, token) => {
      await machine.sh(walk.text("relay secret rotate        #"));
      const leaked = walk.text("relay signing-keys rotate").replace("<folder>", "backup/after");
      await machine.sh(leaked);
      ok(Deno.statSync(`${machine.folder}/backup/after/relay.kv`).isFile);
      const { status } = await clientOf(machine.env.RELAY_URL!, token)("GET", "/api/v1/agents");
      eq(status, 200);
    }),
};
