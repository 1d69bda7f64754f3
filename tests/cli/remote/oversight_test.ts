import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { happen, placeIn } from "../../events/stream_fixtures.ts";
import { forbidding, withRepository } from "../../policies/git_fixtures.ts";
import { type Account, World } from "../../support/world.ts";
import { LOGIN, PASSWORD, type terminal, withTerminal } from "./terminal.ts";

/** Runs a test at a signed-in terminal. */
async function signedIn(
  use: (
    world: World,
    owner: Account,
    run: ReturnType<typeof terminal>["run"],
    home: string,
  ) => Promise<void>,
): Promise<void> {
  await using world = await World.open();
  const owner = await world.signUp();
  await withTerminal(world, async ({ run, profiles }) => {
    await run(LOGIN, PASSWORD);
    await use(world, owner, run, profiles.replace(/\/\.config.*/, ""));
  });
}

const linesOf = (out: string) => out.split("\n").filter(Boolean).map((line) => JSON.parse(line));

Deno.test("relay audit tail: Ctrl-C prints a position, from which the next call misses nothing", async () => {
  await signedIn(async (world, owner, run) => {
    const head = await world.app.log.head({ org: owner.org, space: "live" });
    await happen(world, owner, "agent_deleted", "agt_1");
    let interrupt = () => {};
    const first = await run(
      ["audit", "tail", "--json", "--after", placeIn(world, owner, head)],
      { onInterrupt: (stop) => interrupt = stop, sawOut: () => interrupt() },
    );
    deq([first.code, linesOf(first.out).map(({ agent_id }) => agent_id)], [0, ["agt_1"]]);
    const [, position = ""] = /--after (\S+)\n$/.exec(first.err) ?? [];
    for (const agent of ["agt_2", "agt_3"]) await happen(world, owner, "agent_deleted", agent);
    const next = await run(["audit", "tail", "--json", "--after", position, "--count", "2"]);
    deq(linesOf(next.out).map(({ agent_id }) => agent_id), ["agt_2", "agt_3"]);
    // A position that the log does not have is told, because what follows it cannot be shown.
    const lost = await run(["audit", "tail", "--after", placeIn(world, owner, 9_999)], {
      onInterrupt: (stop) => interrupt = stop,
      saw: () => interrupt(),
    });
    ok(lost.err.startsWith("Events are missing here."), lost.err);
  });
});

Deno.test("relay listen: sends events on with the profile's credential until Ctrl-C", async () => {
  await signedIn(async (world, owner, run) => {
    let interrupt = () => {}, sleeps = 0;
    const forward = "http://127.0.0.1:3000/healthz";
    const { code, out, err } = await run(
      ["listen", "--forward", forward, "--type", "agent_deleted", "--json"],
      {
        onInterrupt: (stop) => interrupt = stop,
        async sleep() {
          if (++sleeps === 2) return interrupt();
          await happen(world, owner, "agent_created", "agt_1");
          await happen(world, owner, "agent_deleted", "agt_1");
        },
      },
    );
    deq([code, linesOf(out).map(({ event_type, http_status }) => [event_type, http_status])], [
      0,
      // The terminal's network leads to the relay, which does not take a POST there.
      [["agent_deleted", 405]],
    ]);
    ok(/^listening to .*\nsigned with a new secret: whsec_/.test(err), err);
  });
});

Deno.test("relay listen: takes a secret from the standard input or the environment, and never prints it", async () => {
  await signedIn(async (_world, _owner, run) => {
    const listen = ["listen", "--forward", "http://127.0.0.1:3000/hook"];
    let interrupt = () => {};
    const listening = {
      onInterrupt: (stop: () => void) => interrupt = stop,
      sleep: () => Promise.resolve(interrupt()),
    };
    const secret = "whsec_c2VjcmV0IG9mIGEgcGVyc29u";
    const env = { RELAY_WEBHOOK_SECRET: secret };
    const printed = [
      await run([...listen, "--secret-stdin"], { ...listening, input: ` ${secret}\n` }),
      await run(listen, { ...listening, env }),
    ];
    for (const { code, out, err } of printed) {
      deq([code, out, err.split("\n").at(1)], [0, "", "signed with your secret"]);
      ok(!err.includes(secret), err);
    }
    // An argument is visible to every user of the machine.
    for (const args of [["--secret", secret], [`--secret=${secret}`], ["--secret-stdin"]]) {
      const { code, out, err } = await run([...listen, ...args], { ...listening, env });
      deq([code, out, err.includes(secret)], [2, "", false], err);
    }
  });
});

Deno.test("relay audit export: an export that fails leaves the file that was there", async () => {
  await signedIn(async (_world, _owner, run, home) => {
    const file = `${home}/audit.ndjson`;
    await Deno.writeTextFile(file, "before");
    eq((await run(["audit", "export", "--file", file, "--agent", "web-none"])).code, 1);
    eq((await run(["audit", "export", "--file", `${home}/none/x`])).code, 1);
    deq([await Deno.readTextFile(file), [...Deno.readDirSync(home)].length], ["before", 2]);
  });
});

Deno.test("relay audit verify: a checkpoint kept elsewhere shows that a relay's log was cut", async () => {
  await signedIn(async (world, owner, run, home) => {
    const kept = `${home}/checkpoint.json`;
    const { text, body } = await world.call("GET", "/api/audit/checkpoint", { as: owner.token });
    await Deno.writeTextFile(kept, text);
    const whole = await run(["audit", "verify", "--checkpoint", kept, "--key", body.public_key]);
    deq([whole.code, whole.out.includes("consistent with the given checkpoint")], [0, true]);
    const strange = await World.open({ seed: 2 });
    const stranger = await strange.signUp();
    const other = await strange.call("GET", "/api/audit/checkpoint", { as: stranger.token });
    await strange[Symbol.asyncDispose]();
    const forged = await run(["audit", "verify", "--key", other.body.public_key, "--json"]);
    deq([forged.code, JSON.parse(forged.out).problem.kind], [1, "proof"]);
    const anonymous = await run(["audit", "verify", "--profile", "none"]);
    deq([anonymous.code, anonymous.out], [3, ""]);
  });
});

Deno.test("relay policy apply: shows the plan, asks, and changes nothing after a no", async () => {
  await signedIn(async (world, owner, run) => {
    const { host, get } = await withRepository(world, { policy_path: "policies" }, owner);
    await host.commit({ "policies/a.yaml": forbidding("nmap") });
    const refused = await run(["policy", "apply", "policies"], { answers: ["n"] });
    deq([refused.code, refused.out], [1, ""]);
    ok(refused.err.startsWith("create a (policies/a.yaml)\nBring policies at "), refused.err);
    eq((await get("policies")).body.pagination.total, 0);
    const applied = await run(["policy", "apply", host.url], { answers: ["y"] });
    deq([applied.code, (await get("policies")).body.pagination.total], [0, 1]);
    await host.commit({ "policies/a.yaml": "rules: 7\n" });
    const broken = await run(["policy", "apply", "policies", "--yes"]);
    eq(broken.code, 1);
    ok(broken.err.includes("policies/a.yaml:1:8"), broken.err);
  });
});

const HISTORIES: readonly (readonly [shell: string, text: string])[] = [
  ["one a line", "uptime\nrm -rf /srv/data\n\nrm -rf /srv/data\necho a\\\\b"],
  [
    "bash",
    "#1700000000\nuptime\n#1700000001\nrm -rf /srv/data\n#1700000002\nrm -rf /srv/data\n#1700000003\necho a\\\\b\n",
  ],
  [
    "zsh",
    ": 1700000000:0;uptime\n: 1700000001:0;rm -rf /srv/data\n: 1700000002:3;rm -rf \\\\\n/srv/data\n: 1:0;echo a\\\\b\n",
  ],
  [
    "fish",
    "- cmd: uptime\n  when: 1700000000\n- cmd: rm -rf /srv/data\n- cmd: rm -rf /srv/data\n- cmd: echo a\\\\\\\\b\n",
  ],
];

Deno.test("relay shield replay: judges the histories of shells without a relay, and sends nothing", async () => {
  await using world = await World.open();
  await withTerminal(world, async ({ run, profiles, urls }) => {
    const file = `${profiles.replace(/\/\.config.*/, "")}/history`;
    for (const [shell, text] of HISTORIES) {
      await Deno.writeTextFile(file, text);
      const { code, out } = await run(["shield", "replay", file, "--json"]);
      const { commands, counts, rules } = JSON.parse(out);
      deq([code, commands, counts, rules], [0, 4, { allow: 2, approve: 2, deny: 0 }, [
        { id: "filesystem.remove_tree", commands: 2 },
        { id: "filesystem.remove_served", commands: 2 },
      ]], shell);
    }
    const { out, err } = await run(["shield", "replay", file]);
    eq(
      out,
      "RULE                    VERDICT  TIMES  COMMAND\n" +
        "filesystem.remove_tree  approve  2      rm -rf /srv/data\n",
    );
    ok(err.startsWith("4 commands: 2 allowed, 2 would wait for a person, 0 denied."), err);
    for (const [path, said] of [[`${file}.none`, "no file"], [Deno.cwd(), "is a folder"]]) {
      const { code, err } = await run(["shield", "replay", path!]);
      deq([code, err.includes(said!)], [2, true], err);
    }
    eq(urls.length, 0);
  });
});
