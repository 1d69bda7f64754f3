import assert from "node:assert/strict";
import type { KeyObject } from "node:crypto";
import { parseAgentArguments } from "../../core/cli/agent/start/arguments.ts";
import { backoffMs } from "../../core/cli/agent/link/backoff.ts";
import { loadIdentity } from "../../core/cli/agent/identity.ts";
import { openJournal } from "../../core/cli/agent/commands/journal.ts";
import { type Ended, openOutbox } from "../../core/cli/agent/outbox.ts";
import { pinVerdictKey, trustNextLink } from "../../core/cli/agent/link/pin.ts";
import {
  type CommandResult,
  MAX_BATCH,
  MAX_OUTPUT_CHUNK_BYTES,
} from "../../core/protocol/frames.ts";
import {
  handoverText,
  privateKeyOf,
  rawPublicKey,
  receiptText,
  signText,
} from "../../core/protocol/statements.ts";
import { openHandClock, openMemoryFiles } from "./agent_support.ts";

Deno.test("backoffMs: doubles from 250 ms to 2.5 s, with jitter over its upper half", () => {
  assert.deepEqual(
    [0, 1, 2, 3, 4, 5, 1000].map((failures) => backoffMs(failures, 0)),
    [125, 250, 500, 1000, 1250, 1250, 1250],
  );
  assert.equal(backoffMs(0, 0.9999999), 250);
  assert.equal(backoffMs(99, 0.9999999), 2500);
});

Deno.test("openJournal: remembers started commands, also after a kill in the middle of a line", () => {
  const { files, texts } = openMemoryFiles();
  const journal = openJournal("s", files);
  journal.add("cmd_1");
  journal.add("cmd_2");
  assert.equal(texts.get("s/started.log"), "cmd_1\ncmd_2\n");
  texts.set("s/started.log", "cmd_1\ncmd_2\ncmd");
  const revived = openJournal("s", files);
  revived.add("cmd_3");
  const again = openJournal("s", files);
  assert.deepEqual(["cmd_1", "cmd_2", "cmd_3", "cmd_4"].map(again.has), [true, true, true, false]);
});

Deno.test("openJournal: keeps the last 10,000 ids and at most 20,000 lines", () => {
  const { files, texts } = openMemoryFiles();
  const journal = openJournal("s", files);
  for (let i = 0; i < 45_000; i++) {
    journal.add(`c${i}`);
    if (i % 1000 === 0) assert.ok((texts.get("s/started.log") ?? "").split("\n").length <= 20_001);
  }
  for (const { has } of [journal, openJournal("s", files)]) {
    assert.equal(has("c34999"), false);
    assert.equal(has("c35000"), true);
    assert.equal(has("c44999"), true);
  }
});

Deno.test("openJournal: a failed write is not remembered, and loses no other id", () => {
  const { files, disk } = openMemoryFiles();
  const journal = openJournal("s", files);
  disk.full = true;
  assert.throws(() => journal.add("cmd_1"), /no space left/);
  assert.equal(journal.has("cmd_1"), false);
  disk.full = false;
  journal.add("cmd_2");
  journal.add("cmd_3");
  const again = openJournal("s", files);
  assert.deepEqual(["cmd_1", "cmd_2", "cmd_3"].map(again.has), [false, true, true]);
});

Deno.test("loadIdentity: a damaged key file is refused, not replaced", async () => {
  const { files, texts } = openMemoryFiles();
  const first = await loadIdentity("s", files);
  assert.equal((await loadIdentity("s", files)).publicKey, first.publicKey);
  texts.set("s/agent-key.json", "{");
  await assert.rejects(loadIdentity("s", files), /holds no Ed25519 key/);
  assert.equal(texts.get("s/agent-key.json"), "{");
});

const keyNo = (n: number) => privateKeyOf(new Uint8Array(32).fill(n));
const [K0, K1, K2, K3] = [keyNo(10), keyNo(11), keyNo(12), keyNo(13)];

/** What a relay shows whose keys were these, one after the other. */
function shownBy(...keys: KeyObject[]) {
  const handovers = keys.slice(1).map((key, at) => ({
    verdict_key: rawPublicKey(key),
    signature: signText(keys[at]!, handoverText(rawPublicKey(key))),
  }));
  return { verdict_key: rawPublicKey(keys.at(-1)!), handovers };
}

Deno.test("pinVerdictKey: the first key is pinned, another one refused", () => {
  const { files, texts } = openMemoryFiles();
  assert.equal(pinVerdictKey("s", shownBy(K0), files), "first");
  assert.equal(pinVerdictKey("s", shownBy(K0), files), "same");
  assert.equal(pinVerdictKey("s", shownBy(K1), files), null);
  assert.equal(texts.get("s/verdict-key"), `${rawPublicKey(K0)}\n`);
});

Deno.test("pinVerdictKey: a key is followed over any number of handovers, and never back", () => {
  const { files, texts } = openMemoryFiles();
  pinVerdictKey("s", shownBy(K0), files);
  assert.equal(pinVerdictKey("s", shownBy(K0, K1, K2), files), "followed");
  assert.equal(texts.get("s/verdict-key"), `${rawPublicKey(K2)}\n`);
  for (const shown of [shownBy(K0), shownBy(K0, K1), shownBy(K1), shownBy(K0, K3)]) {
    assert.equal(pinVerdictKey("s", shown, files), null);
  }
  assert.equal(pinVerdictKey("s", shownBy(K2, K3), files), "followed");
});

Deno.test("pinVerdictKey: refuses a handover that the pinned key did not sign or that leads elsewhere", () => {
  const { files, texts } = openMemoryFiles();
  pinVerdictKey("s", shownBy(K0), files);
  const { verdict_key, handovers: [first, second] } = shownBy(K0, K1, K2);
  const chains = [
    [],
    [first!],
    [second!],
    [second!, first!],
    [{ ...first!, signature: "" }, second!],
    [{ ...first!, signature: second!.signature }, second!],
    [{ ...first!, verdict_key }],
    [{ verdict_key, signature: signText(K2, handoverText(verdict_key)) }],
    [{ verdict_key, signature: signText(K0, verdict_key) }],
    shownBy(K0, K1, K3).handovers,
  ];
  for (const handovers of chains) {
    assert.equal(pinVerdictKey("s", { verdict_key, handovers }, files), null);
  }
  assert.equal(texts.get("s/verdict-key"), `${rawPublicKey(K0)}\n`);
  assert.equal(pinVerdictKey("s", shownBy(K0, K1, K2), files), "followed");
});

Deno.test("pinVerdictKey: on a full disk follows and reports a handover, but makes no first contact", () => {
  const { files, texts } = openMemoryFiles();
  const full = {
    ...files,
    write: () => {
      throw new Error("no space left");
    },
  };
  assert.throws(() => pinVerdictKey("s", shownBy(K0), full), /no space left/);
  pinVerdictKey("s", shownBy(K0), files);
  assert.equal(pinVerdictKey("s", shownBy(K0, K1), full), "unwritten");
  assert.equal(pinVerdictKey("s", shownBy(K1), full), null);
  assert.equal(texts.get("s/verdict-key"), `${rawPublicKey(K0)}\n`);
});

Deno.test("pinVerdictKey: after a new pairing the next link pins whatever key the relay shows, once", () => {
  const { files, texts } = openMemoryFiles();
  trustNextLink("s", files);
  assert.equal(pinVerdictKey("s", shownBy(K0), files), "first");
  assert.equal(pinVerdictKey("s", shownBy(K1), files), null);
  texts.set("s/audit-checkpoint", "of the relay before");
  trustNextLink("s", files);
  assert.equal(pinVerdictKey("s", shownBy(K0), files), "same");
  assert.equal(texts.get("s/audit-checkpoint"), "of the relay before");
  assert.equal(pinVerdictKey("s", shownBy(K1), files), null);
  trustNextLink("s", files);
  assert.equal(pinVerdictKey("s", shownBy(K1), files), "replaced");
  assert.equal(texts.get("s/audit-checkpoint"), "");
  assert.equal(pinVerdictKey("s", shownBy(K1), files), "same");
  assert.equal(pinVerdictKey("s", shownBy(K0), files), null);
});

function resultFor(command_id: string): Ended {
  return {
    type: "result",
    command_id,
    verdict: `${"n".repeat(24)}.1`,
    exit_code: 0,
    signal: null,
    reason: "exited",
    duration_ms: 1,
    truncated: false,
  };
}

/** Keeps the commands of each message of results, after a look at its receipt. */
function openTape() {
  const batches: string[][] = [];
  const socket = {
    bufferedAmount: 0,
    send(text: string) {
      const { results, signature }: { results: CommandResult[]; signature: string } = JSON.parse(
        text,
      );
      assert.equal(signature, sign(receiptText("agt_1", results)));
      batches.push(results.map(({ command_id }) => command_id));
    },
    close() {},
  };
  return { batches, socket };
}

const sign = (text: string) => `signed ${text}`;

Deno.test("openOutbox: repeats results that may not have arrived, unchanged and in order", () => {
  const clock = openHandClock();
  const outbox = openOutbox(clock, sign);
  const [first, second, third, fourth] = [openTape(), openTape(), openTape(), openTape()];
  outbox.attach(first.socket, "agt_1");
  outbox.post(resultFor("old"));
  outbox.flush();
  clock.move(30_000);
  outbox.post(resultFor("sent"));
  outbox.post(resultFor("with it"));
  outbox.flush();
  assert.deepEqual(first.batches, [["old"], ["sent", "with it"]]);
  clock.move(30_001);
  outbox.heard();
  outbox.post(resultFor("unsent"));
  outbox.detach();
  outbox.post(resultFor("waiting"));
  assert.deepEqual(outbox.unsettled(), ["sent", "with it", "unsent", "waiting"]);
  outbox.attach(second.socket, "agt_1");
  outbox.flush();
  assert.deepEqual(second.batches, [["sent", "with it"], ["unsent", "waiting"]]);
  assert.equal(outbox.epoch, 1);
  clock.move(60_001);
  outbox.heard();
  outbox.detach();
  outbox.attach(third.socket, "agt_1");
  outbox.post(resultFor("of another agent"));
  outbox.flush();
  assert.deepEqual(third.batches, [["of another agent"]]);
  outbox.detach();
  outbox.attach(fourth.socket, "agt_2");
  assert.deepEqual(fourth.batches, []);
});

Deno.test("openOutbox: repeats a result that went into a dead link, however late that is noticed", () => {
  const clock = openHandClock();
  const outbox = openOutbox(clock, sign);
  const [dead, next] = [openTape(), openTape()];
  outbox.attach(dead.socket, "agt_1");
  outbox.heard();
  clock.move(1_000);
  outbox.post(resultFor("c"));
  outbox.flush();
  clock.move(600_000);
  outbox.detach();
  assert.deepEqual(outbox.unsettled(), ["c"]);
  outbox.attach(next.socket, "agt_1");
  assert.deepEqual(next.batches, [["c"]]);
});

Deno.test("openOutbox: one turn of the event loop makes one message, within the size of a frame", async () => {
  const outbox = openOutbox(openHandClock(), sign);
  const { batches, socket } = openTape();
  outbox.attach(socket, "agt_1");
  const ids = Array.from({ length: MAX_BATCH + 1 }, (_, n) => `c${n}`);
  for (const id of ids) outbox.post(resultFor(id));
  await new Promise<void>((resolve) => setImmediate(resolve));
  assert.deepEqual(batches, [ids.slice(0, MAX_BATCH), ids.slice(MAX_BATCH)]);
  const stdout = "\u0001".repeat(MAX_OUTPUT_CHUNK_BYTES);
  for (const id of ["x", "y", "z"]) outbox.post({ ...resultFor(id), stdout });
  outbox.flush();
  assert.deepEqual(batches.slice(2), [["x", "y"], ["z"]]);
});

Deno.test("openOutbox: output beyond 16 MiB does not wait for a link, results do", () => {
  const outbox = openOutbox(openHandClock(), sign);
  const data = "x".repeat(16_384);
  const output = { type: "output", command_id: "c", stream: "stdout", data } as const;
  for (let i = 0; i < 1024; i++) assert.equal(outbox.post(output), true);
  assert.equal(outbox.post(output), false);
  assert.equal(outbox.post(resultFor("c")), true);
});

Deno.test("openOutbox: reports pressure above 4 MiB of unsent bytes", () => {
  const outbox = openOutbox(openHandClock(), sign);
  const { socket } = openTape();
  assert.equal(outbox.isCongested(), false);
  outbox.attach(socket, "agt_1");
  socket.bufferedAmount = 4 * 1024 * 1024;
  assert.equal(outbox.isCongested(), false);
  socket.bufferedAmount++;
  assert.equal(outbox.isCongested(), true);
  outbox.detach();
  assert.equal(outbox.isCongested(), false);
});

Deno.test("parseAgentArguments: accepts both forms and explains errors", async () => {
  assert.deepEqual(
    await parseAgentArguments([
      "--url=http://r",
      "--token",
      "t",
      "--label",
      "a=b=c",
      "--label=d=",
      "--backup=x",
    ]),
    { url: "http://r", token: "t", labels: { a: "b=c", d: "" }, backup: ["x"] },
  );
  for (
    const [args, failure] of [
      [["--colour", "red"], 'There is no option "--colour".'],
      [["stray"], 'Unexpected argument "stray".'],
      [["--toString", "x"], 'There is no option "--toString".'],
      [["--url"], "The option --url needs a value."],
      [["--code", "--state", "x"], "The option --code needs a value."],
      [["--url", "a", "--url", "b"], "The option --url may be given only once."],
      [["--label", "zone"], 'The label "zone" is not of the form key=value.'],
    ] as const
  ) {
    await assert.rejects(parseAgentArguments(args), { message: failure });
  }
});
