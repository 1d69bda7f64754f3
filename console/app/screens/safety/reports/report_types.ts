import type { ComplianceReport } from "../../../../../core/client/client.ts";
import type { SignedReport } from "../../../proof/report.ts";

/** A row of the log that a report points to. */
export interface Pointer {
  readonly seq: number;
  readonly event_id: string;
  readonly timestamp: string;
}

interface Holder {
  readonly id: string;
  readonly rows_in_period: number | null;
  readonly last_row_at: string | null;
  readonly remarks: readonly string[];
}

/** The content of a finished report, as docs/compliance.md describes it. */
export interface Pack extends Readonly<Record<string, unknown>> {
  readonly title: string;
  readonly organization: { readonly id: string; readonly name: string };
  readonly space: string;
  readonly period: { readonly from: string; readonly to: string; readonly ended: boolean };
  readonly generated_at: string;
  readonly requested_by: string;
  readonly no_data: boolean;
  readonly statement: string;
  readonly log: { readonly checkpoint: string; readonly size: number; readonly rows: number };
  readonly event_types: readonly { readonly event_type: string; readonly rows: number }[];
  readonly controls: readonly {
    readonly title: string;
    readonly references: readonly string[];
    readonly queries: readonly string[];
    readonly evidence: "rows" | "none";
    readonly shows: string;
    readonly does_not_show: string;
  }[];
  readonly queries: readonly {
    readonly id: string;
    readonly title: string;
    readonly event_types: readonly string[];
    readonly result?: string;
    readonly rows: number;
    readonly first: Pointer | null;
    readonly last: Pointer | null;
  }[];
  readonly exceptions: {
    readonly found: number;
    readonly listed: readonly (Pointer & {
      readonly event_type: string;
      readonly actor: string;
      readonly resource_type: string;
      readonly resource_id: string;
    })[];
  };
  readonly policies?: {
    readonly version: string;
    readonly mode: string;
    readonly agents_in_other_modes: Readonly<Record<string, number>>;
    readonly approvals: {
      readonly required: number;
      readonly roles: readonly string[];
      readonly self_approval: boolean;
    };
    readonly policy: unknown;
    readonly applied: readonly {
      readonly name: string;
      readonly path: string;
      readonly version: number | string;
      readonly commit: string;
    }[];
  };
  readonly approvals?: {
    readonly found: number;
    readonly resolved: readonly (Pointer & {
      readonly approval_id: string;
      readonly agent_id: string | null;
      readonly command: string;
      readonly decision: string;
      readonly requested_by: string | null;
      readonly decided_by: string | null;
      readonly reason: string | null;
    })[];
  };
  readonly access?: {
    readonly roles?: readonly { readonly name: string; readonly rights: readonly string[] }[];
    readonly users: {
      readonly total: number;
      readonly listed: readonly (Holder & {
        readonly email: string;
        readonly roles: readonly string[];
      })[];
    };
    readonly api_keys: {
      readonly total: number;
      readonly usable: number;
      readonly listed: readonly (Holder & {
        readonly name: string;
        readonly status: string;
        readonly scopes: readonly string[];
        readonly rights?: readonly string[];
        readonly created_by: string;
        readonly value_age_days: number;
      })[];
    };
  };
  readonly commands?: {
    readonly by_agent:
      readonly ({ readonly agent_id: string } & Readonly<Record<string, unknown>>)[];
  };
  /** Names of what it mentions, by id; older reports have none. */
  readonly names?: Readonly<Record<string, string>>;
  readonly method: readonly string[];
  readonly limitations: readonly string[];
}

/** A report, and its content and signature once it is finished. */
export type ReadReport =
  & Omit<ComplianceReport, "type">
  & Pick<SignedReport, "type" | "public_key">
  & (
    | { readonly report: Pack; readonly note: string }
    | { readonly report: null; readonly note: null }
  );

/** The names of people and keys that a report itself holds, by id; they stay after the people have left. */
export function namesIn({ access, organization, names = {} }: Pack): ReadonlyMap<string, string> {
  return new Map([
    [organization.id, organization.name],
    ...Object.entries(names),
    ...access?.users.listed.map(({ id, email }) => [id, email] as const) ?? [],
    ...access?.api_keys.listed.map(({ id, name }) => [id, name] as const) ?? [],
  ]);
}
