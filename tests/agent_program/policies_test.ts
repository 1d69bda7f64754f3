import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { openPolicies } from "../../core/cli/agent/policies.ts";
import { openSigner } from "../../core/agents/links/link_signer.ts";
import { privateKeyOf, rawPublicKey } from "../../core/protocol/statements.ts";
import { openMemoryFiles } from "./agent_support.ts";

const privateKey = privateKeyOf(new Uint8Array(32).fill(1));
const link = { agentId: "agt_1", nonce: "n".repeat(24) };
const welcome = {
  type: "welcome" as const,
  agent_id: "agt_1",
  name: "box",
  heartbeat_seconds: 30,
  relay_version: "0.1.0",
  time_ms: 1,
  verdict_key: rawPublicKey(privateKey),
  signature: "",
};
const signerOf = (to = link) => openSigner({ publicKey: rawPublicKey(privateKey), privateKey }, to);

Deno.test("openPolicies: stores and names only policies signed for this link", () => {
  const { files, texts } = openMemoryFiles();
  const held = openPolicies("/state", files);
  eq(held.version(), undefined);
  const signer = signerOf();
  const first = signer.policies([{ name: "a" }]);
  const second = signer.policies([{ name: "b" }]);
  const elsewhere = signerOf({ ...link, agentId: "agt_2" }).policies([{ name: "a" }]);
  const refused = [
    { ...first, policies: [{ name: "c" }] },
    { ...first, policy_version: second.policy_version },
    { ...first, serial: 7 },
    { ...first, signature: "" },
    elsewhere,
  ];
  for (const frame of refused) eq(typeof held.take(frame, welcome, link.nonce), "string");
  eq(texts.size, 0);
  eq(held.take(first, welcome, link.nonce), null);
  eq(held.version(), first.policy_version);
  eq(held.take(second, welcome, link.nonce), null);
  eq(held.take(first, welcome, link.nonce), "its policies were sent before");
  deq(JSON.parse(texts.get("/state/policies.json")!), [{ name: "b" }]);
  eq(openPolicies("/state", files).version(), second.policy_version);
  // Whoever edits the file by hand changes its name, and a broken one has none.
  files.write("/state/policies.json", "[]");
  eq(held.version(), signer.policies([]).policy_version);
  files.write("/state/policies.json", "[");
  eq(held.version(), undefined);
  const unreadable = () => {
    throw new Error("too many open files");
  };
  eq(openPolicies("/state", { ...files, read: unreadable }).version(), undefined);
});
