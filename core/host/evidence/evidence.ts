import {
  auditKeyOf,
  type AuditTree,
  makeCheckpoint,
  nodesOf,
  originOf,
  provenRows,
  READERS,
  type Reauthorization,
  recordRead,
} from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { keyText, readStatement, signNote } from "../../protocol/protocol.ts";
import type { Reading } from "../../work/work.ts";
import { periodOf, type ReadReport, showPeriod } from "../compliance/reports.ts";
import { rangeOf } from "../compliance/scan.ts";
import { type ArchiveFile, textFile, writeArchive } from "./archive.ts";
import { evidenceReports, type ReportSubject } from "./evidence_reports.ts";
import { inParts } from "./parts.ts";
import { readmeOf } from "./readme.ts";
import { checkpointsBetween, growthTo, type Witness, witnessesOf } from "./witnesses.ts";
import verifierInPython from "../../../docs/verify.py" with { type: "text" };
import verifierInTypeScript from "../../../docs/verify.ts" with { type: "text" };
import verifierOfLogs from "../../../docs/verify_log.ts" with { type: "text" };

/** The rights of which each reader of reports has one. */
const REPORT_READERS = ["system:read", "compliance:read"] as const;
const NDJSON = "application/x-ndjson";

/** The parts of the relay that making an archive uses. */
interface EvidenceParts {
  readonly audit: AuditTree;
  readonly authenticator: Pick<Reauthorization, "mustStillHave">;
}

/** One archive under way. */
interface Evidence extends ReportSubject {
  readonly tenant: Reading["actor"]["tenant"];
  readonly size: number;
  readonly madeAt: string;
  readonly handovers: readonly string[];
  readonly witnesses: readonly Witness[];
}

/**
 * An archive of the evidence about a period: reports, the log's rows with their proof, checkpoints, receipts, keys and
 * verifiers. It is made as it is read, and nothing of it is stored. `pageOf` renders a report as HTML.
 * @throws {Fault} VALIDATION_FAILED for the period, INSUFFICIENT_SCOPES for the log
 */
export async function takeEvidence(
  work: Reading,
  parts: EvidenceParts,
  asked: string,
  pageOf: (report: ReadReport) => string,
) {
  const { ports, actor } = work;
  const { tenant } = actor;
  await parts.authenticator.mustStillHave(actor, READERS);
  const period = periodOf(asked, ports.clock.now(), "query.period");
  const key = await auditKeyOf(work, tenant);
  // Read before the checkpoint, so that it covers all that they signed.
  const witnesses = await witnessesOf(work, tenant);
  const { note: checkpoint, size } = await makeCheckpoint(work, parts.audit, tenant);
  const id = ports.entropy.id("evd");
  const shown = showPeriod(period);
  const taken = { evidence_id: id, period: shown, tree_size: size };
  await recordRead(work, "compliance_evidence_taken", taken);
  const made = new Date(ports.clock.now());
  const evidence = {
    id,
    period,
    checkpoint,
    publicKey: keyText(key),
    handovers: key.handovers,
    requestedBy: actor.id,
    tenant,
    size,
    madeAt: made.toISOString(),
    witnesses,
  };
  const heading = manifestHeading(evidence);
  const files = filesOf(work, parts, evidence, pageOf);
  const sign = (lines: readonly string[]) =>
    signNote(`${[...heading, ...lines].join("\n")}\n`, key, key.privateKey);
  const pieces = writeArchive(files, Math.floor(made.getTime() / 1000), sign);
  return {
    type: "application/x-tar",
    body: whileAllowed(pieces, parts, work),
    filename: `evidence-${shown.from.slice(0, 10)}-to-${shown.to.slice(0, 10)}.tar`,
  };
}

async function* whileAllowed(
  pieces: AsyncGenerator<Uint8Array<ArrayBuffer>>,
  { authenticator }: EvidenceParts,
  { actor }: Reading,
) {
  for await (const piece of pieces) {
    yield piece;
    await authenticator.mustStillHave(actor, READERS);
    await authenticator.mustStillHave(actor, REPORT_READERS);
  }
}

function manifestHeading({ id, period, checkpoint, requestedBy, tenant, madeAt }: Evidence) {
  const { size, root } = readStatement(checkpoint)!;
  const { from, to } = showPeriod(period);
  return [
    "relay-evidence/1",
    originOf(tenant),
    `evidence ${id}`,
    `period ${from} ${to}`,
    `made ${madeAt}`,
    `by ${requestedBy}`,
    `checkpoint ${size} ${root.toBase64()}`,
  ];
}

async function* filesOf(
  work: Reading,
  parts: EvidenceParts,
  evidence: Evidence,
  pageOf: (report: ReadReport) => string,
): AsyncGenerator<ArchiveFile> {
  const { tenant, checkpoint, size, witnesses, period, publicKey, handovers } = evidence;
  const relay = { ...work, audit: parts.audit };
  yield textFile("README.txt", await readmeOf(work, tenant, evidence));
  yield textFile("verify.py", verifierInPython);
  yield textFile("verify.ts", verifierInTypeScript);
  yield textFile("verify_log.ts", verifierOfLogs);
  const log = { public_key: publicKey, handovers };
  const agents = witnesses.map(({ id, name, public_key }) => ({ id, name, public_key }));
  yield textFile("keys.json", `${JSON.stringify({ log, agents }, null, 2)}\n`);
  yield textFile("checkpoint.txt", checkpoint);
  const range = await rangeOf(relay, tenant, period, checkpoint);
  const grown = growthTo(nodesOf(work.store, tenant), size);
  const notes = await checkpointsBetween(work, tenant, range);
  yield await linesFile(
    "checkpoints.ndjson",
    notes,
    async (note) => ({ note, ...await grown(note) }),
  );
  const signed = witnesses.flatMap(({ id: agent_id, note }) =>
    note === null ? [] : [{ agent_id, note }]
  );
  yield await linesFile(
    "witnesses.ndjson",
    signed,
    async (one) => ({ ...one, ...await grown(one.note) }),
  );
  for await (const report of evidenceReports(relay, tenant, evidence)) {
    yield textFile(`reports/${report.type}.json`, `${JSON.stringify(report)}\n`);
    yield textFile(`reports/${report.type}.html`, pageOf(report));
  }
  yield* rowsOf(work, parts, evidence);
  // Each part reads the key that signs it, and all must be by one key.
  if (keyText(await auditKeyOf(work, tenant)) !== publicKey) {
    throw new Fault("CONFLICT", "The log's key was replaced meanwhile. Take the evidence again.");
  }
}

async function linesFile<T>(
  name: string,
  values: readonly T[],
  show: (value: T) => Promise<unknown>,
): Promise<ArchiveFile> {
  const shown: unknown[] = [];
  for (const value of values) shown.push(await show(value));
  return textFile(name, linesOf(shown));
}

const linesOf = (values: readonly unknown[]): string =>
  values.map((value) => `${JSON.stringify(value)}\n`).join("");

/** The export of the period's rows and the receipts in them, both in parts of bounded size. */
async function* rowsOf(
  work: Reading,
  { audit }: EvidenceParts,
  { tenant, size, period: { from_ms, to_ms } }: Evidence,
): AsyncGenerator<ArchiveFile> {
  const tree = { ...await audit.reach(tenant), size };
  const { body } = await provenRows(work, tree, { startMs: from_ms, endMs: to_ms }, NDJSON);
  yield* inParts(body);
}
