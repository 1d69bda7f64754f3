import assert from "node:assert/strict";
import { CLOSE_CODES, closeByCode } from "../../core/protocol/close_codes.ts";
import { parseAgentFrame, parseRelayFrame } from "../../core/protocol/protocol.ts";
import {
  challengeText,
  policyText,
  privateKeyOf,
  receiptText,
  signText,
  transferText,
  upgradeText,
  verdictText,
  welcomeText,
} from "../../core/protocol/statements.ts";

Deno.test("CLOSE_CODES: codes are unique and found by number, and programs may send ours", () => {
  const codes = Object.values(CLOSE_CODES).map(({ code }) => code);
  assert.equal(new Set(codes).size, codes.length);
  for (const [name, { code, after }] of Object.entries(CLOSE_CODES)) {
    assert.deepEqual(closeByCode(code), { name, after });
    assert.ok(code === 1000 || code === 1001 || (code >= 4000 && code <= 4999));
  }
  assert.equal(closeByCode(1006), undefined);
});

Deno.test("docs/agent-protocol.md: names every close code", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/agent-protocol.md", import.meta.url));
  for (const [name, { code, after }] of Object.entries(CLOSE_CODES)) {
    assert.match(page, RegExp(`\\| ${code} +\\| \`${name}\` +\\| ${after} `));
  }
});

Deno.test("docs/agent-protocol.md: every frame and signature of its example is valid", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/agent-protocol.md", import.meta.url));
  const agentKey = privateKeyOf(new Uint8Array(32).fill(2));
  const verdictKey = privateKeyOf(new Uint8Array(32).fill(1));
  let challenge = "", nonce = "", agentId = "", signatures = 0;
  for (const [, from, json] of page.matchAll(/^([<>]) (\{.*\})$/gm)) {
    const frame = from === ">" ? parseAgentFrame(json!) : parseRelayFrame(json!);
    assert.deepEqual(frame, JSON.parse(json!));
    if (frame === null || frame === "unknown" || !("signature" in frame)) {
      if (frame !== "unknown" && frame?.type === "challenge") challenge = frame.nonce;
      continue;
    }
    // Its signature is that of the checkpoint, which the page does not show.
    assert.notEqual(frame.type, "checkpoint_kept");
    if (frame.type === "checkpoint_kept") continue;
    signatures++;
    if (frame.type === "hello") nonce = frame.nonce;
    if (frame.type === "welcome") agentId = frame.agent_id;
    const [key, text] = frame.type === "hello"
      ? [agentKey, challengeText(challenge)]
      : frame.type === "welcome"
      ? [verdictKey, welcomeText(frame, nonce)]
      : frame.type === "run"
      ? [verdictKey, verdictText({ agentId, nonce }, frame)]
      : frame.type === "policy"
      ? [verdictKey, policyText({ agentId, nonce }, frame)]
      : frame.type === "transfer"
      ? [verdictKey, transferText({ agentId, nonce }, frame)]
      : frame.type === "upgrade"
      ? [verdictKey, upgradeText({ agentId, nonce }, frame)]
      : [agentKey, receiptText(agentId, frame.results)];
    assert.equal(frame.signature, signText(key, text));
  }
  assert.equal(signatures, 8);
});
