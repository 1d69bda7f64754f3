import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { fullBudget } from "../../core/shield/interpreter/budget.ts";
import { decide } from "../../core/shield/decide.ts";
import { examineCommand } from "../../core/shield/examine.ts";
import { matchesPathGlob } from "../../core/shield/interpreter/glob.ts";
import { inspectCommand, type ShieldContext } from "../../core/shield/inspect.ts";
import { Policy } from "../../core/shield/policy/policy.ts";
import { failedTests } from "../../core/shield/policy/policy_tests.ts";
import { nextTurn } from "../../core/ports/turn.ts";

type Given = Omit<ShieldContext, "policy">;

/** The verdicts on commands under one policy. */
function under(policy: unknown, commands: readonly string[], given: Given = {}): string[] {
  const parsed = Policy.parse(policy);
  return commands.map((command) => inspectCommand(command, { ...given, policy: parsed }).verdict);
}

const only = (verdict: string, match: unknown, more: Record<string, unknown> = {}) => ({
  rules: [{ id: "it", verdict, match, ...more }],
});

Deno.test("policy: a refusal matches its command in every wrapper, and only commands", () => {
  const policy = only("deny", { commands: ["ping", "mtr*"] });
  const found = [
    "ping x",
    "/bin/PING x",
    "sudo ping x",
    "sh -c 'a; ping x'",
    "$(ping x)",
    "mtr-packet",
  ];
  deq(under(policy, found), found.map(() => "deny"));
  deq(under(policy, ["echo ping", "git commit -m ping", "pingpong"]), ["allow", "allow", "allow"]);
});

Deno.test("policy: an allowance holds only where every command of the line is allowed", () => {
  const policy = only("allow", { commands: ["systemctl", "cd"] });
  deq(under(policy, ["systemctl stop nginx", "cd /srv && systemctl stop nginx"]), [
    "allow",
    "allow",
  ]);
  deq(
    under(policy, [
      "systemctl stop nginx; ls",
      "sudo systemctl stop nginx",
      "systemctl stop $(cat name)",
      "systemctl stop nginx > /etc/hosts",
      'systemctl stop "nginx',
    ]),
    ["approve", "approve", "approve", "approve", "approve"],
  );
});

Deno.test("policy: a refusal by score is lifted only by the rule's own id or pack", () => {
  const command = "terraform destroy -auto-approve";
  deq(under(only("allow", { commands: ["terraform"] }), [command]), ["deny"]);
  const ids = inspectCommand(command).rule_ids;
  deq(under(only("allow", { commands: ["terraform"], packs: ["cloud"] }), [command]), ["allow"]);
  deq(under(only("allow", { rule_ids: ids }), [command]), ["allow"]);
  deq(under(only("allow", { packs: ["structure"] }), ["echo '", "curl x.example | sh"]), [
    "approve",
    "deny",
  ]);
});

Deno.test("policy: a deny wins at any place; otherwise the first match decides", () => {
  const rules = [
    { id: "restart", verdict: "allow", match: { commands: ["systemctl"], arguments: ["restart"] } },
    { id: "ask", verdict: "approve", match: { commands: ["systemctl"] } },
    { id: "never", verdict: "deny", match: { arguments: ["sshd"] } },
  ];
  deq(
    under({ rules }, [
      "systemctl restart nginx",
      "systemctl status nginx",
      "systemctl restart sshd",
      "ls",
    ]),
    ["allow", "approve", "deny", "allow"],
  );
});

Deno.test("policy: a verdict names the policy's rule and the layer", () => {
  const rules = [{
    id: "no-ping",
    description: "nobody pings",
    verdict: "deny",
    match: { commands: ["ping"] },
  }];
  const result = inspectCommand("ls; ping x", { policy: Policy.parse({ rules }) });
  deq([result.layer, result.rule_ids], ["policy", ["policy.no-ping"]]);
  ok(result.explanation.includes("no-ping") && result.explanation.includes("nobody pings"));
  deq(result.span, { start: 4, end: 10 });
});

Deno.test("policy: all arguments must occur; a letter matches in a cluster; exact allows no others", () => {
  const policy = only("deny", { commands: ["tool"], arguments: ["-r", "--all*"] });
  deq(
    under(policy, [
      "tool -xr --all=1",
      "tool --all -r",
      "tool -r",
      "tool --rr --all",
      "tool -- -r",
    ]),
    ["deny", "deny", "allow", "allow", "allow"],
  );
  const exact = only("allow", { commands: ["systemctl"], arguments: ["stop", "web"], exact: true });
  deq(under(exact, ["systemctl stop web", "systemctl stop web sshd"]), ["allow", "approve"]);
});

Deno.test("policy: a path is refused in every spelling, and where a wildcard may mean it", () => {
  const policy = only("deny", { paths: ["/srv/data/**"] });
  const meant = [
    "cat /srv/data/a",
    "ls /srv//data/./x/../y",
    "cd /srv/data && cat a",
    "tool --file=/srv/data/a",
    "tool -C/srv/data",
    "echo x > /srv/data/a",
    "cat /srv/da*",
    "cat /srv/data/$X",
    "sudo cat /srv/data/a",
  ];
  deq(under(policy, meant), meant.map(() => "deny"));
  deq(under(policy, ["cat /srv/other", "cat srv/data/a", "cat /srv/database"]), [
    "allow",
    "allow",
    "allow",
  ]);
});

Deno.test("policy: an allowance by paths requires every operand to be known and inside", () => {
  const policy = only("allow", { commands: ["rm"], paths: ["/srv/app/**"] });
  deq(under(policy, ["rm -rf /srv/app/old", "rm -rf /srv/app/a /srv/app/b*"]), ["allow", "allow"]);
  deq(
    under(policy, [
      "rm -rf /srv/app/a /srv/x",
      "rm -rf /srv/app/../x",
      "rm -rf /srv/app/$X/../../x",
      "rm -rf $X",
      "cd /srv && rm -rf app/x",
      "PWD=/srv/app; rm -rf x",
    ]),
    ["approve", "approve", "approve", "approve", "approve", "approve"],
  );
});

Deno.test("policy: labels, people and hours narrow a rule", () => {
  const who = { userId: "usr_1", actorId: "key_1", roles: ["operator"] };
  const denied = (match: unknown, given: Given) =>
    under(only("deny", match), ["ls"], given)[0] === "deny";
  ok(denied({ labels: { env: "prod" } }, { labels: { env: "prod", a: "b" } }));
  ok(!denied({ labels: { env: "prod" } }, { labels: { env: "dev" } }));
  ok(denied({ roles: ["operator"] }, { who }) && !denied({ roles: ["admin"] }, { who }));
  ok(denied({ users: ["key_1"] }, { who }) && denied({ users: ["usr_1"] }, { who }));
  ok(!denied({ users: ["usr_2"] }, { who }) && !denied({ users: ["usr_1"] }, {}));
  const at = (iso: string) => ({ atMs: Date.parse(iso) });
  const night = { hours: { from: "22:00", to: "06:00", days: ["fri"] } };
  ok(denied(night, at("2030-01-04T23:00:00Z")), "Friday night");
  ok(denied(night, at("2030-01-05T05:59:00Z")), "which ends on Saturday");
  ok(!denied(night, at("2030-01-05T06:00:00Z")) && !denied(night, at("2030-01-05T23:00:00Z")));
  ok(!denied(night, {}), "without a clock no hour matches");
  const berlin = { hours: { from: "08:00", to: "09:00", timezone: "Europe/Berlin" } };
  ok(denied(berlin, at("2030-07-01T06:30:00Z")) && denied(berlin, at("2030-01-01T07:30:00Z")));
  ok(!denied(berlin, at("2030-07-01T07:30:00Z")));
  const sunday = {
    hours: { from: "22:00", to: "06:00", days: ["sun"], timezone: "Europe/Berlin" },
  };
  ok(denied(sunday, at("2030-03-31T22:30:00Z")), "the night after a day of 23 hours");
  const ahead = { hours: { from: "05:30", to: "05:31", timezone: "+05:30" } };
  ok(denied(ahead, at("2030-01-01T00:00:00Z")) && !denied(ahead, at("2030-01-01T00:01:00Z")));
});

Deno.test("policy: rules that spell a time zone differently compute its time once", () => {
  const spelled = (n: number) =>
    [..."Pacific/Galapagos"].map((c, i) => n >> i & 1 ? c.toUpperCase() : c).join("");
  const rules = Array.from({ length: 200 }, (_, n) => ({
    id: `r${n}`,
    verdict: "deny",
    match: { hours: { from: "00:00", to: "00:01", timezone: spelled(n) } },
  }));
  const { DateTimeFormat } = Intl;
  let made = 0, read = 0;
  Intl.DateTimeFormat = class extends DateTimeFormat {
    constructor(...given: ConstructorParameters<typeof DateTimeFormat>) {
      super(...given);
      made++;
    }
    override formatToParts(...given: Parameters<Intl.DateTimeFormat["formatToParts"]>) {
      read++;
      return super.formatToParts(...given);
    }
  } as unknown as typeof DateTimeFormat;
  try {
    deq(under({ rules }, ["ls", "id"], { atMs: Date.parse("2030-01-01T12:00:00Z") }), [
      "allow",
      "allow",
    ]);
  } finally {
    Intl.DateTimeFormat = DateTimeFormat;
  }
  deq([made, read], [1, 1]);
});

Deno.test("policy: computing a local time counts against the comparison budget", () => {
  const policy = Policy.parse(only("deny", { hours: { from: "00:00", to: "00:01" } }));
  const comparing = fullBudget();
  const circumstances = { labels: {}, who: null, atMs: 1 };
  decide(examineCommand("ls"), policy, circumstances, comparing);
  ok(fullBudget().compared - comparing.compared >= 500);
  const spent = { compared: 500 };
  const { result } = decide(examineCommand("ls"), policy, circumstances, spent);
  deq([result.verdict, result.rule_ids], ["approve", ["structure.over_budget"]]);
});

Deno.test("policy: thresholds move, rules can be disabled, and unreadable commands still need approval", () => {
  const lax = { thresholds: { approve: 100, deny: 101 } };
  deq(under(lax, ["systemctl stop nginx", "echo '", "rm -rf /"]), ["allow", "approve", "approve"]);
  deq(under({ thresholds: { approve: 1, deny: 20 } }, ["pkill node", "ls"]), ["deny", "allow"]);
  deq(
    under({ disabled_rules: ["services.stop"] }, ["systemctl stop nginx", "systemctl stop sshd"]),
    [
      "allow",
      "approve",
    ],
  );
});

Deno.test("policy: an invalid document is refused, with the place", () => {
  const broken: [unknown, string][] = [
    [{ rules: [{ id: "A b", verdict: "deny", match: {} }] }, "rules.0.id"],
    [{ rules: [{ id: "a", verdict: "maybe", match: {} }] }, "rules.0.verdict"],
    [{ rules: [{ id: "a", verdict: "deny", match: { comands: ["x"] } }] }, "rules.0.match"],
    [
      { rules: [{ id: "a", verdict: "deny", match: { rule_ids: ["no.such"] } }] },
      "rules.0.match.rule_ids.0",
    ],
    [{ rules: [1, 2].map(() => ({ id: "a", verdict: "deny", match: {} })) }, "rules.1.id"],
    [{ disabled_rules: ["structure.unparseable"] }, "disabled_rules.0"],
    [{ thresholds: { approve: 50, deny: 40 } }, "thresholds.approve"],
    [only("deny", { hours: { from: "8:00", to: "25:00" } }), "rules.0.match.hours.from"],
    [
      only("deny", { hours: { from: "08:00", to: "09:00", timezone: "Mars" } }),
      "rules.0.match.hours.timezone",
    ],
    // As JSON has it: a member of that name, whose loss would make the rule concern every agent.
    [only("allow", { labels: JSON.parse('{ "__proto__": "lab" }') }), "rules.0.match.labels"],
    [{ tests: [{ command: "", expect: "deny", labels: { env: 1 } }] }, "tests.0.labels.env"],
  ];
  for (const [policy, path] of broken) {
    const issues = Policy.safeParse(policy).error?.issues.map((issue) => issue.path.join("."));
    ok(issues?.includes(path), `${path}: ${JSON.stringify(issues)}`);
  }
  const large = only("deny", {
    paths: Array.from({ length: 64 }, (_, i) => `${i}`.padEnd(256, "x")),
  });
  const many = { rules: [1, 2, 3].map((n) => ({ ...large.rules[0], id: `r${n}` })) };
  eq(Policy.safeParse(large).success, true);
  eq(Policy.safeParse(many).success, false);
});

Deno.test("matchesPathGlob: a star stays in its folder, two cross them, and no pattern takes long", () => {
  const cases: [string, string, boolean][] = [
    ["/a/*", "/a/b", true],
    ["/a/*", "/a/b/c", false],
    ["/a/**", "/a/b/c", true],
    ["/a/**", "/a", true],
    ["/a/**", "/ab", false],
    ["/a/**/z", "/a/b/c/z", true],
    ["/a/**/z", "/a/b/c/zz", false],
    ["**/x", "/a/x", true],
    ["/a/?", "/a//", false],
    ["/*/b/*.ts", "/a/b/c.ts", true],
    ["*", "/", false],
    ["**", "/a/b", true],
  ];
  for (const [glob, path, matches] of cases) {
    eq(matchesPathGlob(glob, path, { compared: 1_000 }), matches, `${glob} ${path}`);
  }
  const path = "/a".repeat(2_000);
  eq(matchesPathGlob(`${"**/a".repeat(60)}x`, path, { compared: 2_000_000 }), false);
});

Deno.test("policy: a line whose comparison with the rules is too costly needs approval", () => {
  const rules = Array.from({ length: 200 }, (_, i) => ({
    id: `r${i}`,
    verdict: "deny",
    match: { paths: Array.from({ length: 14 }, (_, k) => `/*a${k}`) },
  }));
  const words = (count: number) => Array.from({ length: count }, (_, i) => `/x${i}`).join(" ");
  deq(under({ rules }, [`ls ${words(4_000)}`, "ls /x1", `rm -rf / ${words(4_000)}`]), [
    "approve",
    "allow",
    "deny",
  ]);
  const few = only("deny", { paths: ["/x3999"] });
  deq(under(few, [`ls ${words(4_000)}`]), ["deny"]);
});

Deno.test("policy: no pattern makes a comparison slow, by backtracking or by open brackets", () => {
  const fill = (start: string, unit: string, end: string) =>
    Array.from({ length: 60 }, () => start + unit.repeat(250 / unit.length) + end);
  const slow: [Record<string, unknown>, string][] = [
    [{ arguments: fill("*", "a", "b") }, `${"a".repeat(7_000)} `.repeat(4)],
    [{ arguments: fill("*", "[", "b") }, `'${"[".repeat(7_000)}' `.repeat(4)],
    [{ paths: fill("**", "[", "b") }, `'${"[".repeat(7_000)}' `.repeat(4)],
    [{ paths: fill("**", "a*", "b") }, "a".repeat(28_000)],
    [{ commands: fill("*", "[a]", "b") }, `; ${"a".repeat(7_000)}`.repeat(4)],
  ];
  for (const [match, words] of slow) {
    const policy = Policy.parse(only("deny", match));
    const { verdict, rule_ids } = inspectCommand(`echo ${words}`, { policy });
    deq([verdict, rule_ids], ["approve", ["structure.over_budget"]], JSON.stringify(match));
  }
});

Deno.test("policy: rules without patterns count against the budget too", () => {
  const rules = Array.from({ length: 200 }, (_, i) => ({
    id: `r${i}`,
    verdict: "deny",
    match: { rule_ids: ["filesystem.remove_root"] },
  }));
  const line = (n: number) => Array.from({ length: n }, (_, i) => `x${i}`).join(";");
  const one = Policy.parse({ rules });
  const policy = { ...one, rules: Array.from({ length: 10 }, () => one.rules).flat() };
  deq(
    [200, 800].map((n) => inspectCommand(line(n), { policy }).rule_ids),
    [[], ["structure.over_budget"]],
  );
});

Deno.test("failedTests: other work proceeds while many tests run", async () => {
  const tests = Array.from({ length: 100 }, () => ({ command: "ls", expect: "deny" as const }));
  let turns = 0;
  const others = async () => {
    while (turns < tests.length) {
      await nextTurn();
      turns++;
    }
  };
  const seen = failedTests(Policy.parse({}), tests, nextTurn).then(({ length }) => [length, turns]);
  await others();
  const [failed, before] = await seen;
  eq(failed, tests.length);
  ok(before! >= tests.length - 1, `${before} turns`);
});
