import assert from "node:assert/strict";
import {
  type AgentFrame,
  type CommandOrder,
  type CommandResult,
  fitsBytes,
  MAX_AGENT_FRAME_BYTES,
  MAX_BATCH,
  MAX_COMMAND_LENGTH,
  MAX_HELLO_BYTES,
  MAX_NAMED_COMMANDS,
  MAX_OUTPUT_CHUNK_BYTES,
  MAX_RELAY_FRAME_BYTES,
  parseAgentFrame,
  parseRelayFrame,
  type RelayFrame,
  resultsFrame,
} from "../../core/protocol/frames.ts";

const RESULT: CommandResult = {
  command_id: "cmd_1",
  verdict: `${"n".repeat(24)}.1`,
  exit_code: 0,
  signal: null,
  reason: "exited",
  duration_ms: 12,
  stdout: "x",
  truncated: false,
};

const ORDER: CommandOrder = {
  command_id: "cmd_1",
  command: "uname -a",
  timeout_ms: 60_000,
  max_output_bytes: 1_048_576,
  policy_version: "964d3e65a0d75a70",
};

const AGENT_FRAMES: AgentFrame[] = [
  {
    type: "hello",
    agent: {
      name: "Küchen-PC",
      version: "0.1.0",
      platform: "linux-x86_64",
      hostname: "box.example",
      labels: { "example.com/zone": "a b" },
    },
    public_key: "A".repeat(43),
    signature: "b".repeat(86),
    running: ["cmd_1"],
    nonce: "n".repeat(24),
    program: { form: "bundle", upgrade: "upj_1", failed: { job_id: "upj_2", message: "no link" } },
  },
  { type: "heartbeat", status: "degraded" },
  { type: "started", command_id: "cmd_1" },
  { type: "output", command_id: "cmd_1", stream: "stderr", data: "\u0000é😀" },
  { type: "results", results: [RESULT], signature: "b".repeat(86) },
  { type: "checkpoint_kept", size: 9, signature: "b".repeat(86) },
  { type: "checkpoint_refused", reason: "rolled_back", witnessed: 9, size: 3 },
  { type: "refused", command_id: "cmd_1", reason: "busy", message: "64 commands are running" },
  { type: "policy_held", policy_version: "964d3e65a0d75a70" },
  {
    type: "state",
    serial: 1,
    policy_version: null,
    policies: [{ name: "basics", sha256: "a".repeat(64) }],
    files: { count: 1, bytes: 3, sha256: "b".repeat(64) },
    roots: ["/etc/app"],
    problem: null,
    verdicts: { verified: 2, refused: 0, last_refusal: null },
  },
  {
    type: "transfer_ready",
    job_id: "bkp_1",
    bytes: 9,
    sha256: "a".repeat(64),
    stored_bytes: 5,
  },
  { type: "transfer_want", job_id: "rst_1", offset: 0 },
  { type: "transfer_data", job_id: "bkp_1", offset: 0, data: "AAA=" },
  {
    type: "transfer_done",
    job_id: "rst_1",
    sha256: "a".repeat(64),
    plan: {
      create: 0,
      replace: 1,
      remove: 0,
      unchanged: 2,
      changes: [{ action: "replace", path: "/etc/app/a" }],
    },
  },
  { type: "transfer_failed", job_id: "rst_1", message: "no space left" },
  { type: "upgrade_ready", job_id: "upj_1" },
];

const RELAY_FRAMES: RelayFrame[] = [
  { type: "challenge", nonce: "0123456789abcdef" },
  {
    type: "welcome",
    agent_id: "agt_1",
    name: "box",
    heartbeat_seconds: 30,
    relay_version: "0.1.0",
    time_ms: 1_900_000_000_000,
    verdict_key: "k".repeat(43),
    signature: "b".repeat(86),
  },
  {
    type: "run",
    batch: 1,
    expires_at_ms: 1_900_000_060_000,
    commands: [ORDER],
    signature: "b".repeat(86),
  },
  {
    type: "policy",
    serial: 1,
    policy_version: "964d3e65a0d75a70",
    policies: [{ name: "basics", rules: [] }],
    signature: "b".repeat(86),
  },
  { type: "inspect", serial: 1 },
  {
    type: "transfer",
    serial: 1,
    job_id: "bkp_1",
    kind: "backup",
    sha256: null,
    stored_bytes: 0,
    signature: "b".repeat(86),
  },
  { type: "transfer_want", job_id: "bkp_1", offset: 0 },
  { type: "transfer_data", job_id: "rst_1", offset: 0, data: "AAA=" },
  { type: "transfer_end", job_id: "bkp_1" },
  {
    type: "upgrade",
    serial: 1,
    expires_at_ms: 1_900_000_060_000,
    job_id: "upj_1",
    version: "0.2.0",
    platform: "linux-x86_64",
    sha256: "a".repeat(64),
    bytes: 9,
    signature: "b".repeat(86),
  },
  { type: "cancel", command_id: "cmd_1" },
  { type: "restart" },
  { type: "checkpoint", note: "a note", public_key: "a key", proof: ["A".repeat(43) + "="] },
  { type: "heartbeat_ack" },
  { type: "error", code: "SHUTTING_DOWN", message: "back soon" },
];

Deno.test("parseAgentFrame: returns every frame unchanged, without unknown fields", () => {
  for (const frame of AGENT_FRAMES) {
    assert.deepEqual(parseAgentFrame(JSON.stringify({ ...frame, later: 1 })), frame);
  }
});

Deno.test("parseRelayFrame: returns every frame unchanged, without unknown fields", () => {
  for (const frame of RELAY_FRAMES) {
    assert.deepEqual(parseRelayFrame(JSON.stringify({ ...frame, later: 1 })), frame);
  }
});

Deno.test("parseAgentFrame: a type of a later version is unknown, not malformed", () => {
  for (const type of ["later", "", "run", "toString", "__proto__"]) {
    assert.equal(parseAgentFrame(JSON.stringify({ type })), "unknown");
  }
  assert.equal(parseRelayFrame('{"type":"hello"}'), "unknown");
});

Deno.test("parseAgentFrame: other texts are malformed", () => {
  const hello = AGENT_FRAMES.find(({ type }) => type === "hello");
  const broken = [
    ...["", "{", "null", "[]", '"hello"', "1", "{}", '{"type":1}', '{"type":null}'],
    ...[
      { type: "heartbeat" },
      { type: "heartbeat", status: "fine" },
      { type: "started", command_id: "" },
      { type: "started", command_id: "a b" },
      { type: "started", command_id: "c".repeat(41) },
      { type: "output", command_id: "c", stream: "stdin", data: "" },
      {
        type: "output",
        command_id: "c",
        stream: "stdout",
        data: "x".repeat(MAX_OUTPUT_CHUNK_BYTES + 1),
      },
      ...[
        { exit_code: "0" },
        { exit_code: 0.5 },
        { duration_ms: -1 },
        { reason: "bored" },
        { truncated: undefined },
        { verdict: undefined },
        { verdict: `${"n".repeat(24)}.0` },
        { signal: "SIG TERM" },
        { stdout_sha256: "A".repeat(64) },
      ].map((wrong) => ({ type: "results", results: [{ ...RESULT, ...wrong }], signature: "" })),
      { type: "results", results: [] },
      { type: "results", results: Array(MAX_BATCH + 1).fill(RESULT) },
      { ...hello, nonce: "a\nb".repeat(8) },
      { ...hello, public_key: "short" },
      { ...hello, signature: "b".repeat(85) + "=" },
      { ...hello, running: Array(MAX_NAMED_COMMANDS + 1).fill("cmd_1") },
    ].map((frame) => JSON.stringify(frame)),
  ];
  for (const text of broken) assert.equal(parseAgentFrame(text), null, text);
});

Deno.test("parseAgentFrame: names and labels carry no control characters", () => {
  const hello = AGENT_FRAMES.find((frame) => frame.type === "hello");
  assert.ok(hello);
  for (
    const facts of [
      { name: "a\nb" },
      { name: "" },
      { hostname: "\u001b[2J" },
      { labels: { "no spaces": "x" } },
      { labels: { zone: "a\n" } },
      { labels: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, ""])) },
    ]
  ) {
    const text: string = JSON.stringify({ ...hello, agent: { ...hello.agent, ...facts } });
    assert.equal(parseAgentFrame(text), null, text);
  }
});

Deno.test("parseRelayFrame: an order with a wrong limit is malformed", () => {
  const run = { type: "run", batch: 1, expires_at_ms: 1, signature: "" };
  assert.notEqual(parseRelayFrame(JSON.stringify({ ...run, commands: [ORDER] })), null);
  for (
    const wrong of [
      { command: "" },
      { command: "x".repeat(MAX_COMMAND_LENGTH + 1) },
      { timeout_ms: 0 },
      { timeout_ms: 600_001 },
      { max_output_bytes: -1 },
      { max_output_bytes: 17 * 1024 * 1024 },
      { policy_version: "a b" },
      { command: "echo \ud800" },
    ]
  ) {
    const commands = [{ ...ORDER, ...wrong }];
    assert.equal(parseRelayFrame(JSON.stringify({ ...run, commands })), null);
  }
  for (
    const wrong of [
      { commands: [] },
      { commands: Array(MAX_BATCH + 1).fill(ORDER) },
      { batch: 0 },
      { batch: 0.5 },
      { expires_at_ms: "1" },
    ]
  ) {
    assert.equal(parseRelayFrame(JSON.stringify({ ...run, commands: [ORDER], ...wrong })), null);
  }
});

Deno.test("fitsBytes: counts UTF-8 bytes exactly at the cap", () => {
  for (const letter of ["x", "é", "€", "😀"]) {
    const bytes = new TextEncoder().encode(letter).length;
    const text = letter.repeat(1000);
    assert.equal(fitsBytes(text, bytes * 1000), true, letter);
    assert.equal(fitsBytes(text, bytes * 1000 - 1), false, letter);
  }
  assert.equal(fitsBytes("", 0), true);
});

Deno.test("caps: the largest frames that the schemas allow fit into their caps", () => {
  const hello = {
    type: "hello",
    agent: {
      name: "€".repeat(128),
      version: "€".repeat(64),
      platform: "€".repeat(64),
      hostname: "€".repeat(255),
      labels: Object.fromEntries(
        Array.from({ length: 16 }, (_, i) => [`${i}`.padStart(63, "k"), '"'.repeat(128)]),
      ),
    },
    public_key: "A".repeat(43),
    signature: "b".repeat(86),
    running: Array(MAX_NAMED_COMMANDS).fill("c".repeat(40)),
    nonce: "n".repeat(64),
  };
  const tail = "\u0001".repeat(MAX_OUTPUT_CHUNK_BYTES);
  const result = {
    command_id: "c".repeat(40),
    verdict: `${"n".repeat(64)}.${"9".repeat(15)}`,
    exit_code: -2147483648,
    signal: "SIGVTALRM",
    reason: "failed_to_start",
    duration_ms: 123456789.5,
    stdout: tail,
    stderr: tail,
    stdout_sha256: "0".repeat(64),
    stderr_sha256: "0".repeat(64),
    truncated: false,
  };
  const results = { type: "results", results: [result], signature: "b".repeat(128) };
  const order = {
    command_id: "c".repeat(40),
    command: "\u0001".repeat(MAX_COMMAND_LENGTH),
    timeout_ms: 600_000,
    max_output_bytes: 1_048_576,
    policy_version: "p".repeat(64),
  };
  const run = {
    type: "run",
    batch: 999_999_999_999_999,
    expires_at_ms: 999_999_999_999_999,
    commands: [order],
    signature: "b".repeat(128),
  };
  for (
    const [frame, cap, parse] of [
      [hello, MAX_HELLO_BYTES, parseAgentFrame],
      [results, MAX_AGENT_FRAME_BYTES, parseAgentFrame],
      [run, MAX_RELAY_FRAME_BYTES, parseRelayFrame],
    ] as const
  ) {
    const text = JSON.stringify(frame);
    assert.deepEqual(parse(text), frame);
    assert.equal(fitsBytes(text, cap), true, `${frame.type} takes ${text.length}`);
  }
});

Deno.test("parseAgentFrame: the fast check accepts only results that the schema accepts unchanged", () => {
  const plain = { ...RESULT, duration_ms: 1.5, stderr: "" };
  const odd: unknown[] = [
    undefined,
    null,
    "",
    "x",
    -1,
    0.5,
    256,
    1e10,
    true,
    {},
    "x".repeat(20_000),
  ];
  const results = [
    plain,
    { ...plain, extra: 1 },
    { ...plain, stdout_sha256: "0".repeat(64) },
    ...Object.keys(plain)
      .flatMap((field) => odd.map((value) => ({ ...plain, [field]: value }))),
    null,
    [],
  ];
  const whole = { type: "results", results: [plain], signature: "s" };
  const frames = [
    ...results.map((result) => ({ ...whole, results: [plain, result] })),
    ...odd.flatMap((value) => [{ ...whole, signature: value }, { ...whole, results: value }]),
    { ...whole, results: Array(MAX_BATCH + 1).fill(plain) },
    { ...whole, extra: 1 },
  ];
  for (const frame of frames) {
    const text = JSON.stringify(frame);
    const bySchema = resultsFrame.safeParse(JSON.parse(text));
    assert.deepEqual(parseAgentFrame(text), bySchema.success ? bySchema.data : null, text);
  }
});

Deno.test("docs/agent-protocol.md: names every frame", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/agent-protocol.md", import.meta.url));
  for (const { type } of [...AGENT_FRAMES, ...RELAY_FRAMES]) {
    assert.match(page, RegExp(`\`${type}\``));
  }
});
