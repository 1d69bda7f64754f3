import assert from "node:assert/strict";
import {
  type AgentFrame,
  CLOSE_CODES,
  closeByCode,
  fitsBytes,
  MAX_AGENT_FRAME_BYTES,
  MAX_COMMAND_LENGTH,
  MAX_HELLO_BYTES,
  MAX_NAMED_COMMANDS,
  MAX_OUTPUT_CHUNK_BYTES,
  MAX_RELAY_FRAME_BYTES,
  parseAgentFrame,
  parseRelayFrame,
  type RelayFrame,
  resultFrame,
} from "../../core/protocol.ts";

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
  },
  { type: "heartbeat", status: "degraded" },
  { type: "started", command_id: "cmd_1" },
  { type: "output", command_id: "cmd_1", stream: "stderr", data: "\u0000é😀" },
  {
    type: "result",
    command_id: "cmd_1",
    exit_code: 0,
    signal: null,
    reason: "exited",
    duration_ms: 12,
    stdout: "x",
    truncated: false,
  },
  { type: "refused", command_id: "cmd_1", reason: "busy", message: "64 commands are running" },
];

const RELAY_FRAMES: RelayFrame[] = [
  { type: "challenge", nonce: "0123456789abcdef" },
  {
    type: "welcome",
    agent_id: "agt_1",
    name: "box",
    heartbeat_seconds: 30,
    relay_version: "0.1.0",
    verdict_key: "k",
  },
  {
    type: "run",
    command_id: "cmd_1",
    command: "uname -a",
    timeout_ms: 60_000,
    max_output_bytes: 1_048_576,
  },
  { type: "cancel", command_id: "cmd_1" },
  { type: "restart" },
  { type: "heartbeat_ack" },
  { type: "error", code: "SHUTTING_DOWN", message: "back soon" },
];

Deno.test("parseAgentFrame: every frame comes back as it was, without unknown fields", () => {
  for (const frame of AGENT_FRAMES) {
    assert.deepEqual(parseAgentFrame(JSON.stringify({ ...frame, later: 1 })), frame);
  }
});

Deno.test("parseRelayFrame: every frame comes back as it was, without unknown fields", () => {
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

Deno.test("parseAgentFrame: what is not a frame is malformed", () => {
  const result = AGENT_FRAMES.find(({ type }) => type === "result");
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
      { ...result, exit_code: "0" },
      { ...result, exit_code: 0.5 },
      { ...result, duration_ms: -1 },
      { ...result, reason: "bored" },
      { ...result, truncated: undefined },
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
  const run = RELAY_FRAMES.find(({ type }) => type === "run");
  for (
    const wrong of [
      { command: "" },
      { command: "x".repeat(MAX_COMMAND_LENGTH + 1) },
      { timeout_ms: 0 },
      { timeout_ms: 600_001 },
      { max_output_bytes: -1 },
      { max_output_bytes: 17 * 1024 * 1024 },
    ]
  ) {
    assert.equal(parseRelayFrame(JSON.stringify({ ...run, ...wrong })), null);
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
  };
  const tail = "\u0001".repeat(MAX_OUTPUT_CHUNK_BYTES);
  const result = {
    type: "result",
    command_id: "c".repeat(40),
    exit_code: -2147483648,
    signal: "SIGVTALRM",
    reason: "failed_to_start",
    duration_ms: 123456789.5,
    stdout: tail,
    stderr: tail,
    truncated: false,
  };
  const run = {
    type: "run",
    command_id: "c".repeat(40),
    command: "\u0001".repeat(MAX_COMMAND_LENGTH),
    timeout_ms: 600_000,
    max_output_bytes: 1_048_576,
  };
  for (
    const [frame, cap, parse] of [
      [hello, MAX_HELLO_BYTES, parseAgentFrame],
      [result, MAX_AGENT_FRAME_BYTES, parseAgentFrame],
      [run, MAX_RELAY_FRAME_BYTES, parseRelayFrame],
    ] as const
  ) {
    const text = JSON.stringify(frame);
    assert.deepEqual(parse(text), frame);
    assert.equal(fitsBytes(text, cap), true, `${frame.type} takes ${text.length}`);
  }
});

Deno.test("CLOSE_CODES: codes are unique, found again, and ours can be sent by a program", () => {
  const codes = Object.values(CLOSE_CODES).map(({ code }) => code);
  assert.equal(new Set(codes).size, codes.length);
  for (const [name, { code, after }] of Object.entries(CLOSE_CODES)) {
    assert.deepEqual(closeByCode(code), { name, after });
    assert.ok(code === 1000 || code === 1001 || (code >= 4000 && code <= 4999));
  }
  assert.equal(closeByCode(1006), undefined);
});

Deno.test("docs/agent-protocol.md: names every frame and every close code", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/agent-protocol.md", import.meta.url));
  for (const { type } of [...AGENT_FRAMES, ...RELAY_FRAMES]) {
    assert.match(page, RegExp(`\`${type}\``));
  }
  for (const [name, { code, after }] of Object.entries(CLOSE_CODES)) {
    assert.match(page, RegExp(`\\| ${code} +\\| \`${name}\` +\\| ${after} `));
  }
});

Deno.test("parseAgentFrame: a result that is checked by hand is one that the schema takes, unchanged", () => {
  const plain = {
    type: "result",
    command_id: "cmd_1",
    exit_code: 0,
    signal: null,
    reason: "exited",
    duration_ms: 1.5,
    stdout: "out",
    stderr: "",
    truncated: false,
  };
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
  const frames = [
    plain,
    { ...plain, extra: 1 },
    ...Object.keys(plain).filter((field) => field !== "type")
      .flatMap((field) => odd.map((value) => ({ ...plain, [field]: value }))),
  ];
  for (const frame of frames) {
    const text = JSON.stringify(frame);
    const bySchema = resultFrame.safeParse(JSON.parse(text));
    assert.deepEqual(parseAgentFrame(text), bySchema.success ? bySchema.data : null, text);
  }
});
