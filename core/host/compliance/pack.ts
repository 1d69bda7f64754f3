import { hash } from "node:crypto";
import { SYSTEM, type Tenant } from "../../../kv/store/collection.ts";
import { BLOB_BYTES_MAX } from "../../../kv/engine/engine_limits.ts";
import { organizations } from "../../../kv/records/organization.ts";
import type { ReportRecord } from "../../../kv/records/report.ts";
import { keyText, readStatement, signNote, VERSION } from "../../protocol/protocol.ts";
import { auditKeyOf, originOf, signerOf } from "../../events/events.ts";
import { canonicalJson, iso } from "../../codec/codec.ts";
import { type Access, accessNow } from "./access_review.ts";
import { controlsOf, REPORTS } from "./controls.ts";
import {
  ACTORS_MAX,
  AGENTS_MAX,
  type Counted,
  type DecidedApproval,
  type Exception,
  type Tally,
  TYPES_MAX,
} from "./count.ts";
import { namesOf } from "./names.ts";
import { type PoliciesInForce, policiesNow } from "./policies_in_force.ts";
import { QUERIES, type Query, type QueryName } from "./queries.ts";
import type { ReportNeeds, ScannedReport } from "./scan.ts";

/** A query and its result, from which anybody can repeat the count. */
export interface QueryResult extends Query, Tally {
  readonly id: QueryName;
}

/** One control and its evidence in the log. */
export interface ControlResult {
  readonly title: string;
  readonly references: readonly string[];
  readonly queries: readonly QueryName[];
  /** The sum of the rows that its queries found. */
  readonly rows: number;
  readonly evidence: "rows" | "none";
  readonly shows: string;
  readonly does_not_show: string;
}

/** An evidence pack: what the log proves about a period, and nothing else. */
export interface Pack {
  readonly format: "relay-compliance-report/1";
  readonly id: string;
  readonly type: ReportRecord["type"];
  readonly title: string;
  readonly organization: { readonly id: string; readonly name: string };
  readonly space: Tenant["space"];
  readonly period: {
    readonly asked: string;
    readonly from: string;
    readonly to: string;
    readonly ended: boolean;
  };
  readonly generated_at: string;
  readonly requested_by: string;
  readonly version: string;
  /** True when the log has no row of the period, so no control has evidence. */
  readonly no_data: boolean;
  readonly statement: string;
  readonly log: {
    readonly checkpoint: string;
    readonly public_key: string;
    readonly size: number;
    readonly expired: number;
    readonly rows: number;
    readonly from_outside: number;
    readonly not_kept: number;
    readonly altered: number;
  };
  readonly event_types: readonly { readonly event_type: string; readonly rows: number }[];
  readonly controls: readonly ControlResult[];
  readonly queries: readonly QueryResult[];
  readonly exceptions: { readonly found: number; readonly listed: readonly Exception[] };
  readonly policies?: PoliciesInForce;
  readonly approvals?: { readonly found: number; readonly resolved: readonly DecidedApproval[] };
  readonly access?: Access;
  readonly commands?: {
    readonly by_agent: readonly ({ readonly agent_id: string } & Record<string, unknown>)[];
  };
  /** The names of the users, keys and agents that it mentions and that still existed. Older reports have none. */
  readonly names?: Readonly<Record<string, string>>;
  readonly method: readonly string[];
  readonly limitations: readonly string[];
}

/** The most users, keys, approvals and exceptions, each, that a report lists. */
const LISTED_MAX = 1_000;

const METHOD = [
  "Every row of the period that the checkpoint covers was read once, in order, and compared with its hash " +
  "in the log's tree.",
  "To repeat the count, export the audit log with `start_time` and `end_time` of the period, omit rows whose " +
  "`seq` is above `log.size`, and apply each query: the row's `event_type` is one of `event_types`, and " +
  "`result`, `details` and `same` (two members of `details` that are present and equal) hold where given.",
  "Callers registered the rows whose `resource_type` is `external`. They count in `event_types` and in " +
  "`log.from_outside`, and are evidence of no query.",
  "Users, API keys and policies are those at the time of the report, not those of the period.",
];

const NO_USERS = "Users belong to the live space: a report of the test space lists none.";

/** A pack with the signed note over its digest. */
export interface SignedPack {
  readonly pack: Pack;
  /** Its canonical JSON. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly sha256: string;
  readonly note: string;
}

/** Makes and signs the pack of a report whose rows are counted. */
export async function signedPack(
  relay: ReportNeeds,
  tenant: Tenant,
  report: ScannedReport,
  counted: Counted,
): Promise<SignedPack> {
  const fitting = await fittingPack(relay, tenant, report, counted);
  const key = await auditKeyOf(relay, tenant);
  const text = noteText(tenant, fitting.pack, fitting.sha256);
  return { ...fitting, note: signNote(text, key, key.privateKey) };
}

/** A pack that fits into one blob. Halves the length of its lists until it does. */
async function fittingPack(
  relay: ReportNeeds,
  tenant: Tenant,
  report: ScannedReport,
  counted: Counted,
) {
  for (let listedMax = LISTED_MAX;; listedMax = Math.floor(listedMax / 2)) {
    const pack = await makePack(relay, tenant, report, counted, listedMax);
    const json = canonicalJson(pack);
    const bytes = new TextEncoder().encode(json);
    if (bytes.length <= BLOB_BYTES_MAX || listedMax === 0) {
      return { pack, bytes, sha256: hash("sha256", json) };
    }
  }
}

/** The signed text of a pack: its digest and its subject. */
function noteText(tenant: Tenant, pack: Pack, sha256: string): string {
  const { size, root } = readStatement(pack.log.checkpoint)!;
  return [
    pack.format,
    originOf(tenant),
    `report ${pack.id} ${pack.type}`,
    `period ${pack.period.from} ${pack.period.to}`,
    `generated ${pack.generated_at}`,
    `checkpoint ${size} ${root.toBase64()}`,
    `sha256 ${sha256}`,
    "",
  ].join("\n");
}

/** Assembles a pack. */
async function makePack(
  relay: ReportNeeds,
  tenant: Tenant,
  report: ScannedReport,
  counted: Counted,
  /** The most entries of each list. */
  listedMax: number,
): Promise<Pack> {
  const { store, ports } = relay;
  const nowMs = ports.clock.now();
  const { id, type, period, scan } = report;
  const { title, sections } = REPORTS[type];
  const organization = await store.get(organizations, SYSTEM, tenant.org);
  const { expired, time } = readStatement(scan.checkpoint)!;
  // The report covers the log up to its checkpoint, however late it is finished.
  const ended = period.to_ms <= Date.parse(time);
  const has = new Set(sections);
  const access = has.has("access") ? await accessNow(relay, tenant, counted, listedMax) : null;
  const queries = queriesOf(type, counted);
  const exceptions = counted.exceptions.slice(0, listedMax);
  const approvals = has.has("approvals") ? counted.approvals.slice(0, listedMax) : [];
  return {
    format: "relay-compliance-report/1",
    id,
    type,
    title,
    organization: { id: tenant.org, name: organization?.name ?? "" },
    space: tenant.space,
    period: {
      asked: period.asked,
      from: iso(period.from_ms),
      to: iso(period.to_ms),
      ended,
    },
    generated_at: iso(nowMs),
    requested_by: report.requested_by,
    version: VERSION,
    no_data: counted.rows === 0,
    statement: counted.rows === 0
      ? "The log holds no row of this period. This report has no evidence for or against anything."
      : `The log holds ${counted.rows} rows of this period.`,
    log: {
      checkpoint: scan.checkpoint,
      public_key: keyText(signerOf(await auditKeyOf(relay, tenant), scan.checkpoint)),
      size: scan.size,
      expired,
      rows: counted.rows,
      from_outside: counted.from_outside,
      not_kept: counted.not_kept,
      altered: counted.altered,
    },
    event_types: [...counted.types].map(([event_type, rows]) => ({ event_type, rows }))
      .sort((a, b) => a.event_type < b.event_type ? -1 : 1),
    controls: controlResults(type, queries),
    queries,
    exceptions: { found: counted.exceptions_found, listed: exceptions },
    ...(has.has("policies") && { policies: await policiesNow(relay, tenant) }),
    ...(has.has("approvals") &&
      { approvals: { found: counted.approvals_found, resolved: approvals } }),
    ...(access !== null && { access }),
    ...(has.has("commands") && {
      commands: {
        by_agent: [...counted.agents].map(([agent_id, outcomes]) => ({ agent_id, ...outcomes })),
      },
    }),
    names: await namesOf(relay, tenant, mentioned(report, counted, exceptions, approvals, access)),
    method: METHOD,
    limitations: [
      ...limitationsOf(report, counted, { expired, ended }),
      ...[
        access && tenant.space === "test" && NO_USERS,
        cutList("exceptions", exceptions.length, counted.exceptions_found),
        has.has("approvals") && cutList("approvals", approvals.length, counted.approvals_found),
        access && cutList("users", access.users.listed.length, access.users.total),
        access && cutList("API keys", access.api_keys.listed.length, access.api_keys.total),
      ].flatMap((text) => text || []),
    ],
  };
}

/** Every id in a pack that may have a name. */
function mentioned(
  { requested_by, type }: ReportRecord,
  { agents }: Counted,
  exceptions: readonly Exception[],
  approvals: readonly DecidedApproval[],
  access: Access | null,
): ReadonlySet<string> {
  const ids = [
    requested_by,
    ...exceptions.flatMap(({ actor, resource_id }) => [actor, resource_id]),
    ...approvals.flatMap((one) => [one.agent_id, one.requested_by, one.decided_by]),
    ...access?.api_keys.listed.map(({ created_by }) => created_by) ?? [],
    ...REPORTS[type].sections.includes("commands") ? agents.keys() : [],
  ];
  return new Set(ids.filter((id) => id !== null));
}

function queriesOf(type: ReportRecord["type"], { tallies }: Counted): QueryResult[] {
  const names = new Set(controlsOf(type).flatMap(({ queries }) => queries));
  return [...names].map((id) => ({
    id,
    ...QUERIES[id],
    ...tallies.get(id) ?? { rows: 0, first: null, last: null },
  }));
}

function controlResults(
  type: ReportRecord["type"],
  results: readonly QueryResult[],
): ControlResult[] {
  const rowsOf = new Map(results.map(({ id, rows }) => [id, rows]));
  return controlsOf(type).map(({ title, named, queries, shows, does_not_show }) => {
    const rows = queries.reduce((sum, name) => sum + rowsOf.get(name)!, 0);
    const references = named[type]!;
    const evidence = rows > 0 ? "rows" : "none";
    return { title, references, queries, rows, evidence, shows, does_not_show };
  });
}

const cutList = (what: string, listed: number, found: number): string | null =>
  listed < found ? `There are ${found} ${what}; the first ${listed} are listed.` : null;

function limitationsOf(
  { scan }: ReportRecord,
  counted: Counted,
  { expired, ended }: { expired: number; ended: boolean },
): string[] {
  const cut = (what: string, max: number) => `Only ${max} ${what} are counted separately.`;
  const limitations: (readonly [boolean, string])[] = [
    [true, "This is evidence for a review. It is no opinion, no certificate and no attestation."],
    [counted.rows === 0, "There is no data for this period."],
    [!ended, "The period had not ended when the log was read."],
    [
      expired > 0 && scan?.start === expired,
      `The oldest ${expired} rows of the log are no longer kept. They may include rows of this period.`,
    ],
    [
      counted.not_kept > 0,
      `${counted.not_kept} rows that the checkpoint covers could no longer be read.`,
    ],
    [
      counted.altered > 0,
      `${counted.altered} of the rows read were altered in the store and are not counted. ` +
      "Check an export with `relay audit verify`.",
    ],
    [counted.types.size >= TYPES_MAX, cut("event types", TYPES_MAX)],
    [counted.actors.size >= ACTORS_MAX, cut("actors", ACTORS_MAX)],
    [counted.agents.size >= AGENTS_MAX, cut("agents", AGENTS_MAX)],
  ];
  return limitations.flatMap(([holds, text]) => holds ? [text] : []);
}
