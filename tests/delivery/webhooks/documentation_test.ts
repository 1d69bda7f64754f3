import assert from "node:assert/strict";

import { EVENT_TYPES, PING, WEBHOOK_EVENTS } from "../../../core/events/types/webhook_events.ts";
import { signDelivery } from "../../../core/delivery/webhooks/signing.ts";
import { isInstalled, withFolder } from "../../support/processes.ts";

const PAGE = Deno.readTextFileSync(new URL("../../../docs/webhooks.md", import.meta.url));

/** Whether a receiver must accept a delivery, by the change made to a genuine one. */
function receivedDeliveries() {
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const body = '{"event_type":"ping","payload":{"message":"Zoë 🚀"}}';
  const attempt = {
    body,
    secret,
    deliveryId: "dlv_1",
    timestampMs: Date.now(), // the recipes compare it with the clock of their own process
    eventType: "ping",
    eventTimestamp: "2026-01-31T12:00:00.000Z",
  };
  const headers = lowerCase(signDelivery(attempt));
  const rotated = lowerCase(signDelivery({ ...attempt, secret: "new", previousSecret: secret }));
  const plain = "ein Geheimnis mit Ümlaut";
  const stale = { ...attempt, timestampMs: attempt.timestampMs - 3_600_000 };
  return [
    { name: "genuine", expected: true, secret, headers, body },
    { name: "old secret in the grace period", expected: true, secret, headers: rotated, body },
    {
      name: "new secret in the grace period",
      expected: true,
      secret: "new",
      headers: rotated,
      body,
    },
    {
      name: "plain secret",
      expected: true,
      secret: plain,
      headers: lowerCase(signDelivery({ ...attempt, secret: plain })),
      body,
    },
    { name: "altered body", expected: false, secret, headers, body: `${body} ` },
    { name: "other secret", expected: false, secret: "other", headers, body },
    {
      name: "altered time",
      expected: false,
      secret,
      headers: {
        ...headers,
        "webhook-timestamp": String(Number(headers["webhook-timestamp"]) + 1),
      },
      body,
    },
    {
      name: "replayed later",
      expected: false,
      secret,
      headers: lowerCase(signDelivery(stale)),
      body,
    },
    {
      name: "no ASCII",
      expected: false,
      secret,
      headers: { ...headers, "webhook-signature": "v1,é" },
      body,
    },
  ];
}

/** How the recipe of a language is run, and the most `lines` that it may have. */
const DRIVERS = {
  python: {
    program: "python3",
    version: "--version",
    lines: 11,
    script: (code: string) =>
      `${code}
import json, sys
for case in json.load(sys.stdin):
    print(str(verify(case["secret"], case["headers"], case["body"].encode())).lower())
`,
    arguments: (script: string) => ["-c", script],
  },
  js: {
    program: "node",
    version: "--version",
    lines: 11,
    script: (code: string) =>
      `${code}
import { readFileSync } from "node:fs";
for (const { secret, headers, body } of JSON.parse(readFileSync(0, "utf8"))) {
  console.log(verify(secret, headers, Buffer.from(body)));
}
`,
    arguments: (script: string) => ["--input-type=module", "-e", script],
  },
  go: {
    program: "go",
    version: "version",
    lines: 20,
    script: (code: string) =>
      `package main
import ("crypto/hmac"; "crypto/sha256"; "encoding/base64"; "encoding/json"; "fmt"; "os"; "strconv"; "strings"; "time")
${code}
func main() {
	var cases []struct { Secret, Body string; Headers map[string]string }
	json.NewDecoder(os.Stdin).Decode(&cases)
	for _, each := range cases {
		header := func(name string) string { return each.Headers[name] }
		fmt.Println(Verify(each.Secret, header, []byte(each.Body), 5*time.Minute))
	}
}
`,
    arguments: (script: string, folder: string) => {
      Deno.writeTextFileSync(`${folder}/main.go`, script);
      return ["run", `${folder}/main.go`];
    },
  },
} as const;

for (const [language, driver] of Object.entries(DRIVERS)) {
  Deno.test({
    name: `docs/webhooks.md: the ${language} recipe accepts what is genuine and nothing else`,
    ignore: !isInstalled(driver.program, driver.version),
    async fn() {
      const cases = receivedDeliveries();
      const recipe = recipeIn(language);
      const lines = recipe.split("\n").filter((line) => line !== "").length;
      assert.ok(lines <= driver.lines, "a short recipe");
      const output = await withFolder((folder) =>
        run(driver.program, driver.arguments(driver.script(recipe), folder), cases)
      );
      const verdicts = output.trim().split("\n");
      assert.deepEqual(
        verdicts,
        cases.map(({ expected }) => String(expected)),
        JSON.stringify(cases.map(({ name }, index) => [name, verdicts[index]])),
      );
    },
  });
}

Deno.test("docs/webhooks.md: shows every event type with the fields of its payload and its scope", () => {
  for (const type of EVENT_TYPES) {
    const row = PAGE.split("\n").find((line) => line.startsWith(`| \`${type}\``)) ?? "";
    const { meaning, payload, scope } = WEBHOOK_EVENTS[type];
    assert.ok(row.includes(meaning), type);
    assert.ok(row.includes(`\`${scope}\``), type);
    for (const field of Object.keys(payload.shape)) {
      assert.ok(row.includes(`\`${field}\``), `${type}: ${field}`);
    }
  }
  for (const field of Object.keys(PING.payload.shape)) assert.ok(PAGE.includes(`\`${field}\``));
});

Deno.test("docs/webhooks.md: shows every header of a delivery", () => {
  const headers = signDelivery({
    body: "{}",
    secret: "new",
    deliveryId: "dlv_1",
    timestampMs: 0,
    eventType: "ping",
    eventTimestamp: "2026-01-31T12:00:00.000Z",
  });
  for (const name of [...Object.keys(headers), "X-Audit-Checkpoint"]) {
    assert.ok(PAGE.includes(`| \`${name}\``), name);
  }
});

function recipeIn(language: string): string {
  const [, recipe] = PAGE.split("```" + language + "\n");
  assert.ok(recipe !== undefined, `a recipe in ${language}`);
  return recipe.slice(0, recipe.indexOf("```"));
}

function lowerCase(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}

async function run(program: string, args: string[], input: unknown): Promise<string> {
  const child = new Deno.Command(program, { args, stdin: "piped", stdout: "piped" }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(JSON.stringify(input)));
  await writer.close();
  const { success, stdout } = await child.output();
  assert.ok(success, `${program} ended with a failure`);
  return new TextDecoder().decode(stdout);
}
