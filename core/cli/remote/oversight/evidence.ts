import { describeEvidence, type Facts, Fault, verifyEvidence } from "../../../../docs/verify.ts";
import { keyText } from "../../../protocol/protocol.ts";
import type { Run } from "../command.ts";
import { writeWhole } from "./audit.ts";
import { checking, INVALID, keyOf } from "./verify.ts";

/** The deadline of an archive. */
const EVIDENCE_MS_MAX = 60 * 60 * 1000;

/** `relay evidence` */
export const takeEvidence: Run = async ({ relay, args: [period = ""], text, out }) => {
  const file = text("file") ?? `evidence-${period.replaceAll(/[^\w.-]+/g, "_")}.tar`;
  const answer = await relay().open("compliance.evidence", {
    query: { period },
    timeoutMs: EVIDENCE_MS_MAX,
  });
  await writeWhole(file, answer.body!);
  await out.item({ file, period }, file, [["file", file], ["period", period]]);
  await out.note(`Check it: relay evidence verify ${file}`);
};

/** `relay evidence verify` */
export const verifyArchive: Run = checking(async (call) => {
  const { args: [file = ""], text, has, host, out } = call;
  const given = text("key");
  const key = given === undefined ? null : keyText(await keyOf(given));
  let facts: Facts | null = null, fault: Fault | null = null;
  try {
    facts = verifyEvidence(file, key);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    fault = error;
  }
  if (out.format === "table" && !has("quiet")) {
    const unknown = key === null && fault === null
      ? "\nchecked with the archive's own key: give --key to verify who signed it"
      : "";
    const said = facts === null ? `INVALID: ${fault!.message}` : describeEvidence(facts);
    await host.write(`${said}${unknown}\n`);
  } else {
    const problem = fault && { file: fault.file, message: fault.why };
    const answer = { valid: fault === null, problem, ...facts, given_key: key !== null };
    await out.item(answer, fault === null ? "valid" : "invalid", []);
  }
  return fault === null ? 0 : INVALID;
});
