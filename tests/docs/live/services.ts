import { deepStrictEqual as deq, match, ok, strictEqual as eq } from "node:assert/strict";
import { freePort } from "../../cluster/denokv.ts";
import { ServiceMachine } from "./service_machine.ts";
import type { Walk } from "./world.ts";

const PASSWORD = "correct horse 7";

/** The way of a new operator: the service, HTTPS, an agent and its loss, backups, and a restore elsewhere. */
export const SERVICES: Readonly<Record<string, (walk: Walk) => Promise<void>>> = {
  async "deploy.md"(walk) {
    await using here = await ServiceMachine.make();
    const { machine } = here;
    const { folder } = machine;
    const block = (part: string) => here.own(walk.text(part));
    const settings = `${folder}/etc/relay.env`;

    const certificate = block("openssl req -x509");
    await machine.sh(certificate);
    const [users, unit, install, start] = block("relay.service").split("\n");
    await machine.sh(`${users}\n${unit}\n${install}`);
    // The guide says to edit them: HTTPS without a proxy, and here the port of this test.
    const tls = block("RELAY_TLS_CERT");
    await Deno.writeTextFile(settings, `${tls}RELAY_PORT=${here.port}\n`);
    await machine.sh(start!);
    const [signUp] = /relay login .*/.exec(await Deno.readTextFile(`${folder}/relay.log`))!;
    const [, claim] = /claim_code (\S+)/.exec(await Deno.readTextFile(`${folder}/relay.log`))!;
    const line = signUp.replace("<organization>", "Acme").replace("<code>", claim!);
    const untrusted = await machine.end(`${line} <<<"${PASSWORD}"`);
    match(untrusted.stderr, /name the PEM file of your own authority in DENO_CERT/);
    const me = { DENO_CERT: `${folder}/etc/relay/relay.pem` };
    await machine.sh(`${line} <<<"${PASSWORD}"`, me);
    match((await machine.sh(block("relay doctor"), me)).stdout, /ok +certificate/);

    const pairing = machine.start("relay pair web-1", me);
    const [, code] = await pairing.until(/--code (\S+)/);
    const agent = block("--state /var/lib/relay-agent").replace("<code>", code!);
    await Deno.writeTextFile(`${folder}/etc/relay-agent.env`, `DENO_CERT=${me.DENO_CERT}\n`);
    await machine.sh(agent, me);
    await pairing.until(/paired +web-1/);
    eq((await machine.sh("relay exec web-1 -- echo here", me)).stdout, "here\n");

    const key = await machine.sh("relay keys create watch -s agents:read -q", me);
    const events = machine.start(
      `curl -sN --cacert "$DENO_CERT" "https://localhost:${here.port}/api/events?types=agent_disconnected" ` +
        `-H "authorization: Bearer ${key.stdout.trim()}"`,
      me,
    );
    await events.until(/event: hello/);
    const pid = Number(await Deno.readTextFile(`${folder}/relay-agent.pid`));
    Deno.kill(pid, "SIGKILL");
    await events.until(/"event_type":"agent_disconnected"/);
    match((await machine.sh("relay agents ls", me)).stdout, /web-1 +offline/);
    await Deno.remove(`${folder}/relay-agent.pid`);

    const proxy = block("trusted_proxies");
    await Deno.writeTextFile(settings, `${proxy}RELAY_PORT=${here.port}\n`);
    await machine.sh("systemctl restart relay");
  },

  async "backup.md"(walk) {
    await using here = await ServiceMachine.make();
    const { machine } = here;
    const { folder } = machine;
    const block = (part: string) => here.own(walk.text(part));
    const store = { RELAY_KV: `${folder}/var/lib/relay/relay.kv`, RELAY_PORT: here.port };
    await machine.sh(here.own("cp deploy/systemd/relay.service /etc/systemd/system/"));
    await Deno.writeTextFile(`${folder}/etc/relay.env`, `RELAY_PORT=${here.port}\n`);
    await machine.sh("systemctl enable --now relay");

    await machine.sh(block("relay-backup.timer"));
    const [named, kept, restore, compact, doctor] = block("relay compact ").split("\n");
    await machine.sh(`${named}\n${kept}`, store);
    eq([...Deno.readDirSync(`${folder}/backup`)].length, 3);
    await machine.sh(`mkdir copy && cp safe/relay.kv.secret copy && ${restore}`, {
      RELAY_KV: `${folder}/copy/relay.kv`,
    });
    await machine.sh(`systemctl stop relay\n${compact}\nsystemctl start relay\n${doctor}`, store);

    // Some findings depend on the machine.
    const sample = walk.text("$ relay doctor").trim().split("\n").slice(1);
    const names = sample.map((line) => line.split(/ +/)[1]!);
    const { findings } = JSON.parse((await machine.sh("relay doctor --json", store)).stdout);
    const found: string[] = findings.map(({ name }: { name: string }) => name);
    deq(names.filter((name) => !found.includes(name)), []);

    const second = (text: string) => text.replaceAll("/var/lib/relay/", "/var/lib/relay-test/");
    const onNew = block("install -m 600 -o relay").replace(
      "/var/lib/relay\n",
      "/var/lib/relay-test\n",
    );
    await machine.sh(second(onNew));
    const port = `${freePort()}`;
    const restored = machine.start(block("RELAY_PORT=9082").replace("9082", port));
    await restored.until(/ is ready /);
    await machine.sh(`RELAY_PORT=${port} relay health`);
    await restored.stop();

    await Deno.writeTextFile(`${folder}/etc/relay.env`, block("every_hours"), { append: true });
    await Deno.remove(`${folder}/backup`, { recursive: true });
    await machine.sh("mkdir backup && systemctl restart relay");
    const log = machine.start("tail -n +1 -F relay.log");
    await log.until(/a scheduled backup was taken/);
    ok([...Deno.readDirSync(`${folder}/backup`)].length === 1);
  },
};
