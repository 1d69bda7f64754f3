import { UnreachedError } from "../clients/status_client.ts";
import { clientOf } from "../clients/status_client.ts";
import { handshake } from "../clients/handshake.ts";
import { type Place, TARGET } from "./place.ts";
import { type Job, oneOf } from "./work.ts";

/** Addresses of this machine that attackers come from. */
const ADDRESSES = 24;
const FLOOD = 150;
const TOO_LARGE = "x".repeat(3 * 1024 * 1024);
/** Longer than the relay waits for the rest of a body. */
const STALL_MS = 40_000;
const READ_MS = 3_000;

/** Beginnings of requests whose rest never comes. */
const STALLS: readonly string[] = [
  "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow",
  "POST /api/v1/login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n" +
  'Content-Length: 5000\r\n\r\n{"email"',
  "POST /api/v1/signup HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n" +
  'Transfer-Encoding: chunked\r\n\r\n5\r\n{"ema\r\n',
  "",
];
/** Requests that are malformed or too long. */
const GARBAGE: readonly string[] = [
  "\x00\x01\x02\x03\r\n\r\n",
  "GET / HTTP/9.9\r\n\r\n",
  "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
  "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  `GET / HTTP/1.1\r\nHost: a\r\nX-Long: ${"a".repeat(100_000)}\r\n\r\n`,
  `GET /${"a/".repeat(30_000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
];

/** Frames as no client sends them: without a mask, of a reserved kind, not UTF-8, endless, of broken JSON, and binary. */
const FRAMES: readonly (readonly number[])[] = [
  [0x81, 0x02, 0x68, 0x69],
  [0x83, 0x80, 1, 2, 3, 4],
  [0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe],
  [0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 1, 2, 3],
  [0x81, 0x85, 0, 0, 0, 0, ...new TextEncoder().encode("{nope")],
  [0x82, 0x83, 0, 0, 0, 0, 1, 2, 3],
];
const TOKENS = ["relay.events.v1", "relay.agent.v1"];

/** Connections from the attackers' addresses. */
export const openAddresses = (): Deno.HttpClient[] =>
  Array.from(
    { length: ADDRESSES },
    (_, n) => Deno.createHttpClient({ localAddress: `127.0.1.${n + 1}` }),
  );

/** Guesses, floods, and requests that are too large, too slow or malformed. */
export function hostileJobs(place: Place, addresses: readonly Deno.HttpClient[]): Job[] {
  const { relay, dice, work, ownerKey, limited, tester, owner } = place;
  const attacker = (credential?: string) => {
    const client = dice.pick(addresses);
    return work.patient(
      clientOf(relay.url, credential, (to, init) => fetch(to, { ...init, client })),
    );
  };

  async function guess() {
    const body = { email: dice.chance(0.5) ? TARGET : `n${dice.below(1e6)}@example.com` };
    const password = `guess ${dice.below(1e9)}`;
    const answer = await attacker()("POST", "/api/v1/login", { ...body, password });
    oneOf(answer, [401, 429], "a wrong password");
  }

  async function unknownKey() {
    const value = `svc_live_${String(dice.below(1e9)).padStart(38, "A")}`;
    oneOf(await attacker(value)("GET", "/api/v1/agents"), [401, 429], "an unknown key");
  }

  async function flood() {
    const client = dice.pick([limited, tester]);
    const answers = await Promise.all(
      Array.from({ length: FLOOD }, () => client("GET", "/api/v1/agents")),
    );
    for (const answer of answers) oneOf(answer, [200, 429], "one of a flood");
  }

  async function tooLarge() {
    const client = dice.chance(0.5) ? attacker() : owner;
    const path = dice.pick(["/api/v1/roles", "/mcp", "/api/v1/gitops/webhook", "/api/v1/login"]);
    try {
      oneOf(await client("POST", path, { x: TOO_LARGE }), [401, 413, 429], `3 MiB to ${path}`);
    } catch (error) {
      // The relay may answer before it has read all, and close.
      if (!(error instanceof UnreachedError)) throw error;
    }
  }

  /** Sends bytes, and reads what comes until the relay ends it or the time is over. */
  async function speak(bytes: Uint8Array<ArrayBuffer>, ms: number): Promise<void> {
    await work.ready();
    const socket = await Deno.connect({ hostname: "127.0.0.1", port: relay.port })
      .catch((error) => {
        throw new UnreachedError("no connection", { cause: error });
      });
    const reading = (async () => {
      const buffer = new Uint8Array(16 * 1024);
      while (await socket.read(buffer) !== null);
    })().catch(() => {}); // reset, or closed by us
    await socket.write(bytes).catch(() => {});
    await Promise.race([reading, work.rest(ms)]);
    try {
      socket.close();
    } catch {
      // The relay has closed it, and the read noticed.
    }
    await reading;
  }

  const stall = () => speak(encoded(dice.pick(STALLS)), STALL_MS);
  const garbage = () => speak(encoded(dice.pick(GARBAGE)), READ_MS);

  async function frames() {
    const head = encoded(handshake(ownerKey, dice.pick(TOKENS)));
    await speak(new Uint8Array([...head, ...dice.pick(FRAMES)]), READ_MS);
  }

  return [
    { name: "wrong passwords", everyMs: 800, act: guess },
    ...Array.from({ length: 2 }, () => ({ name: "unknown keys", everyMs: 150, act: unknownKey })),
    { name: "floods", everyMs: 5_000, act: flood },
    { name: "large bodies", everyMs: 3_000, act: tooLarge },
    ...Array.from({ length: 8 }, () => ({ name: "half-open requests", everyMs: 500, act: stall })),
    { name: "garbage", everyMs: 800, act: garbage },
    { name: "malformed frames", everyMs: 800, act: frames },
  ];
}

const encoded = (text: string) => new TextEncoder().encode(text);
