import { SYSTEM, type Tenant } from "../../../kv/store/collection.ts";
import { organizations } from "../../../kv/records/organization.ts";
import { showPeriod } from "../compliance/reports.ts";
import type { ReportNeeds } from "../compliance/scan.ts";
import type { ReportSubject } from "./evidence_reports.ts";

/** What an archive holds and how to check it, for people. */
export async function readmeOf(
  { store }: Pick<ReportNeeds, "store">,
  tenant: Tenant,
  { id, period, madeAt }: ReportSubject & { readonly madeAt: string },
): Promise<string> {
  const organization = await store.get(organizations, SYSTEM, tenant.org);
  const { from, to } = showPeriod(period);
  const name = (organization?.name ?? tenant.org).replaceAll(/\s+/g, " ");
  return `Evidence of ${name} (${tenant.org}, ${tenant.space} space)
from ${from} to ${to}, made at ${madeAt} as ${id}.

Contents
  reports/            a report of each type, to read (html) and for programs (json);
                      access-review is who may do what, why, and when they last did something
  audit/              the rows of the audit log of the period, with their proof
  receipts/           what agents signed about commands that ended, by the rows' numbers
  checkpoint.txt      the signed state of the whole log when this archive was made
  checkpoints.ndjson  earlier signed states, each with a proof that the log only grew
  witnesses.ndjson    the states that agents hold and signed, with the same proof
  keys.json           the public keys of the log and of the agents
  manifest.txt        the SHA-256 of each file, signed by the log's key
  verify.py           a program that checks all of this without a network
  verify.ts           another one, with verify_log.ts beside it

Check this archive
  1. Get the log's public key from somewhere else than this archive: from the people who run the
     relay, or from a checkpoint that you stored before. The key in keys.json proves nothing.
  2. Take a verifier from Relay's repository (docs/verify.py, or docs/verify.ts
     with docs/verify_log.ts) or from this archive.
     Whoever could forge the archive could also change the verifier in it.
  3. python3 verify.py ARCHIVE KEY
     deno run --allow-read verify.ts ARCHIVE KEY
     relay evidence verify ARCHIVE --key KEY

Each names the first file and, for the log, the row that differs. The rows of all parts are one
export: tar -xOf ARCHIVE audit | relay audit verify /dev/stdin --key KEY

What this does not prove
  Reports count what the log shows. Each control says what its rows do not show. Nothing here says
  what was done on a machine without Relay, or whether what was done was right.
`;
}
