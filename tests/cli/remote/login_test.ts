import { deepStrictEqual as deq, match, ok, strictEqual as eq, throws } from "node:assert/strict";
import { relayAddress } from "../../../core/cli/address.ts";
import type { Profiles } from "../../../core/cli/remote/profiles.ts";
import { World } from "../../support/world.ts";
import { LOGIN, PASSWORD, terminal, withTerminal } from "./terminal.ts";

const HOUR_MS = 3_600_000;
const read = async (path: string): Promise<Profiles> => JSON.parse(await Deno.readTextFile(path));

Deno.test("relayAddress: every common form names one relay, other addresses are refused", () => {
  const same = [
    "https://r.example",
    "https://r.example/",
    "wss://r.example/ws",
    "r.example",
    "r.example/ws/",
  ];
  deq(new Set(same.map(relayAddress)), new Set(["https://r.example"]));
  const local = ["localhost:9081", "http://localhost:9081", "ws://localhost:9081/ws"];
  deq(new Set(local.map(relayAddress)), new Set(["http://localhost:9081"]));
  eq(relayAddress("127.0.0.1:9081"), "http://127.0.0.1:9081");
  eq(relayAddress("[::1]:9081/ws"), "http://[::1]:9081");
  eq(relayAddress("wss://r.example/relay/ws/"), "https://r.example/relay");
  for (
    const wrong of [
      "",
      "ftp://r.example",
      "https://a:b@r.example",
      "https://r.example?x",
    ]
  ) {
    throws(() => relayAddress(wrong), /is not a relay's/, wrong);
  }
});

Deno.test("relay login: the profile is readable by its owner only, and an open one is refused", async () => {
  await using world = await World.open();
  await world.signUp();
  await withTerminal(world, async ({ run, profiles }) => {
    eq((await run(LOGIN, PASSWORD)).code, 0);
    eq((await Deno.stat(profiles)).mode! & 0o777, 0o600);
    eq((await Deno.stat(profiles.replace(/\/[^/]+$/, ""))).mode! & 0o777, 0o700);
    await Deno.chmod(profiles, 0o644);
    const { code, err } = await run(["whoami"]);
    deq([code, err], [1, `relay: other users can read your credentials: chmod 600 ${profiles}\n`]);
  });
});

Deno.test("relay login: a code that another terminal approves signs this one in", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await withTerminal(world, async (here) => {
    const env = { RELAY_TOKEN: owner.token };
    let [asked, code] = [0, ""];
    const printed = await here.run(["login"], {
      saw: (text) => code ||= /the code (\S{9}),/.exec(text)?.[1] ?? "",
      async sleep(ms) {
        await world.advance(ms);
        if (++asked !== 2) return;
        const refused = await here.run(["login", "--confirm", code], { env });
        deq([refused.code, /give --yes/.test(refused.err)], [2, true]);
        const confirmed = await here.run(["login", "--confirm", code], { env, answers: ["y"] });
        match(confirmed.err, /ana@laptop at 192\.0\.2\.1 asked at/);
        match(
          confirmed.err,
          /everything that person1@example\.com of Organization 1 may do at http/,
        );
        eq(confirmed.code, 0, confirmed.err);
      },
    });
    eq(printed.code, 0, printed.err);
    match(printed.err, /^Open http:\/\/127\.0\.0\.1:9081\/device and enter the code \S{9}, or/);
    match((await here.run(["whoami"])).out, /person1@example\.com/);
  });
});

Deno.test("relay login --confirm: an answer other than yes denies the terminal", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await withTerminal(world, async ({ run }) => {
    const body = { device_name: "mallory" };
    const { body: started } = await world.call("POST", "/api/v1/login/device", { body });
    const line = ["login", "--confirm", started.user_code];
    const { code, err } = await run(line, { env: { RELAY_TOKEN: owner.token }, answers: ["n"] });
    eq(code, 1, err);
    const { device_code } = started;
    const polled = await world.call("POST", "/api/v1/login/device/token", {
      body: { device_code },
    });
    eq(polled.body.error.details.reason, "access_denied");
  });
});

Deno.test("relay: a profile's credential is sent to its own relay only", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await withTerminal(world, async ({ run, urls }) => {
    await run([...LOGIN, "--url", "wss://one.example/ws"], PASSWORD);
    await run([...LOGIN, "--url", "two.example"], PASSWORD);
    match((await run(["whoami"])).out, /two\.example in/);
    match((await run(["whoami", "--url", "https://one.example"])).out, /default in/);
    urls.length = 0;
    for (const env of [{ RELAY_URL: "https://three.example" }, {}]) {
      const line = "RELAY_URL" in env ? ["whoami"] : ["whoami", "--url", "three.example"];
      const { code, err } = await run(line, { env });
      deq([code, /not signed in at https:\/\/three\.example/.test(err)], [3, true]);
    }
    const mixed = await run(["whoami", "--url", "three.example", "--profile", "default"]);
    deq([mixed.code, urls], [2, []]);
    const env = { RELAY_URL: "https://three.example", RELAY_TOKEN: owner.token };
    match((await run(["whoami"], { env })).out, /none: RELAY_TOKEN is set/);
    deq([...new Set(urls)], ["https://three.example"]);
    // What is printed to do next names the relay, too.
    const refused = await run(["whoami"], { env: { ...env, RELAY_TOKEN: "wrong" } });
    match(refused.err, /\nSign in again: relay login --url https:\/\/three\.example\n$/);
    const mistyped = await run([...LOGIN, "--url", "one.example"], { input: "wrong" });
    deq([mistyped.code, /Sign in again/.test(mistyped.err)], [3, false]);
  });
});

Deno.test("relay: an expired session is refreshed once, also by commands at the same time", async () => {
  await using world = await World.open();
  await world.signUp();
  await withTerminal(world, async ({ run, profiles }) => {
    await run(LOGIN, PASSWORD);
    const before = await read(profiles);
    world.clock.nowMs += 2 * HOUR_MS;
    const printed = await Promise.all([run(["whoami"]), run(["whoami"]), run(["whoami"])]);
    deq(printed.map(({ code }) => code), [0, 0, 0]);
    const after = await read(profiles);
    ok(after.profiles.default!.refresh_token !== before.profiles.default!.refresh_token);
    match(after.profiles.default!.refresh_token!, /\.2\.\w+$/);
    eq((await Deno.stat(profiles)).mode! & 0o777, 0o600);
    world.clock.nowMs += 31 * 24 * HOUR_MS;
    const { code, err } = await run(["whoami"]);
    deq([code, /The session has ended\. Sign in again: relay login --url/.test(err)], [3, true]);
  });
});

Deno.test("relay logout: a session that has ended is forgotten, too", async () => {
  await using world = await World.open();
  await world.signUp();
  await withTerminal(world, async ({ run, profiles }) => {
    eq((await run(LOGIN, PASSWORD)).code, 0);
    world.clock.nowMs += 31 * 24 * HOUR_MS;
    eq((await run(["whoami"])).code, 3);
    const { code, out } = await run(["logout"]);
    eq(code, 0);
    match(out, /had ended/);
    deq(JSON.parse(await Deno.readTextFile(profiles)).profiles, {});
  });
});

Deno.test("relay login --token-stdin: keeps an API key, which logout leaves valid", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { value } = await world.key(owner, ["agents:read"]);
  await withTerminal(world, async ({ run }) => {
    const wrong = await run(["login", "--token-stdin"], { input: "svc_live_wrong" });
    eq(wrong.code, 3);
    eq((await run(["login", "--token-stdin"], { input: `${value}\n` })).code, 0);
    match((await run(["whoami"])).out, /credential +api_key/);
    match((await run(["status"])).out, /agents +0 of 0 online\n$/);
    eq((await run(["logout"])).code, 0);
    const still = await world.call("GET", "/api/account/info", { as: value });
    eq(still.status, 200);
  });
});

Deno.test("relay: an argument with a dash is an option or wrong, never a name", async () => {
  await using world = await World.open();
  await withTerminal(world, async ({ run, urls }) => {
    const lines = {
      "agents ls --constructor=x":
        'There is no option "--constructor". See: relay agents ls --help',
      "agents rm -yweb-1": 'There is no option "-yweb-1". See: relay agents rm --help',
      "exec -lenv=test -- ls": 'There is no option "-lenv=test". See: relay exec --help',
      "exec --lable=a=b -- ls":
        'There is no option "--lable". Did you mean --label? See: relay exec --help',
    };
    for (const [line, err] of Object.entries(lines)) {
      deq(await run(line.split(" ")), { code: 2, out: "", err: `${err}\n` });
    }
    deq(urls, []);
  });
});

Deno.test("relay login: options that exclude or need each other are refused", async () => {
  await using world = await World.open();
  const { run, urls } = terminal(world, "/nonexistent");
  for (
    const line of [
      ["--email", "a@example.com"],
      ["--password-stdin"],
      ["--token-stdin", "--confirm", "x"],
      ["--url", "ftp://x"],
      ["extra"],
    ]
  ) eq((await run(["login", ...line])).code, 2, line.join(" "));
  deq(urls, []);
});

Deno.test("relay open: shows the console of the relay in the browser, also before a sign-in", async () => {
  await using world = await World.open();
  await world.signUp();
  await withTerminal(world, async ({ run }) => {
    const shown: string[] = [];
    const answers: string[] = [];
    const browse = (address: string) => shown.push(address) > 0;
    await run(["open", "--url", "relay.example.com"], { answers, browse });
    eq((await run(LOGIN, PASSWORD)).code, 0);
    const opened = await run(["open"], { answers, browse });
    deq(shown, ["https://relay.example.com/console", `${opened.out.trim().split(/\s+/)[1]}`]);
    ok(shown[1]!.startsWith("http") && shown[1]!.endsWith("/console"), shown[1]);
    const piped = await run(["open", "-q"], { browse: () => ok(false) as never });
    eq(piped.out, `${shown[1]}\n`);
    eq((await run(["open", "--profile", "none"])).code, 3);
  });
});
