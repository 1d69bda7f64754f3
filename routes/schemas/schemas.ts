import { z } from "zod";
import {
  canonicalJson,
  ISO_CHARS_MAX,
  ISO_PATTERN,
  PERIOD_CHARS_MAX,
  PERIOD_FORMS,
  readIso,
} from "../../core/codec/codec.ts";
import {
  PASSWORD_LENGTH_MAX,
  PASSWORD_LENGTH_MIN,
  passwordProblem,
} from "../../core/access/access.ts";
import { canonicalEmail, SCOPE_LIST } from "../../core/identity/identity.ts";
import { labelKey, labelValue } from "../../core/protocol/protocol.ts";
import { SEVERITIES } from "../../core/events/events.ts";
import { SUSPENSION_REASONS } from "../../kv/records/standing.ts";
import { SHIELD_MODES } from "../../kv/records/shield.ts";
import { CreatedWith as CredentialInRecord } from "../../kv/records/fields.ts";

/** An opaque id in a path or a body. */
export const Id = z.string().regex(
  /^[\x21-\x7e]{1,128}$/,
  "must be 1 to 128 visible ASCII characters",
)
  .meta({ description: "An opaque id." });

/** The parameters of a path that names one resource. */
export const IdParams = z.strictObject({ id: Id });

/** The alert that a command answers. */
export const AlertId = Id.meta({
  description: "The alert that the command answers. Their events then have the same `thread`.",
});

/** The thread that joins an alert with the commands that answer it. */
export const Thread = Id.meta({
  description: "The id of an alert: the story of that alert and of the commands that answer it.",
});
/** An agent in a path or a body, by its id or its name. The call resolves it for routes that declare `agent`. */
export const AgentRef = Id.meta({ description: "The agent's id or its name." });

/** A filter by agent in a query. */
export const AgentFilter = Id.meta({
  description: "The agent's id or its name. A deleted agent is found by its id only.",
});

const LABELS_MAX = 32;

/** The labels that select agents. None would select every agent, which `all` says plainly. */
export const LabelSelector = z.record(labelKey, labelValue).refine(
  (labels) => {
    const count = Object.keys(labels).length;
    return count >= 1 && count <= LABELS_MAX;
  },
  `must hold 1 to ${LABELS_MAX} labels`,
).meta({
  description: "Agents that have all of these labels.",
  minProperties: 1,
  maxProperties: LABELS_MAX,
  examples: [{ env: "test" }],
});

/** The two spaces of an organization: real data, and data for tests. */
export const Space = z.enum(["live", "test"]).meta({ id: "Space" });

/** How strictly the shield acts on commands. */
export const ShieldMode = z.enum(SHIELD_MODES).meta({ id: "ShieldMode" });

/** Severities, from the mildest on. */
export const Severity = z.enum(SEVERITIES).meta({ id: "Severity" });

/** The response of a receiver, which does not reveal what becomes of the message. */
export const Accepted = z.object({ accepted: z.literal(true) }).meta({ id: "Accepted" });

const Credential = CredentialInRecord.extend({
  kind: CredentialInRecord.shape.kind.meta({ id: "CredentialKind" }),
}).meta({ id: "CreatedWith" });

/** The credential that made a resource. */
export const CreatedWith = Credential.nullable().meta({
  description: "What created it: an API key (`api_key`), a sign-in (`session`), an MCP client " +
    "(`mcp_grant`) or another issuer (`issuer`, by address); null when an earlier version of Relay did not record it.",
});

/** The person whose rights a standing resource acts with, and whether it may act. */
export const standing = {
  acts_for: z.string().meta({
    description:
      "The user with whose present rights it acts: its creator, or the user who adopted it.",
  }),
  suspended: z.object({
    person: z.string(),
    reason: z.enum(SUSPENSION_REASONS).meta({
      description: "`removed`: the user is gone. `inactive`: deactivated. `rights`: lost rights.",
    }),
    missing: z.array(z.string()).meta({
      description:
        "The rights that it needs and the user lacks. Actions that need one of them are skipped.",
    }),
  }).meta({ id: "Suspension" }).nullable().meta({
    description: "Null while the user has all the rights that it needs.",
  }),
};

/** The description of the endpoints that adopt such a resource. */
export const ADOPTION =
  "It then acts with the caller's present rights. The caller needs all the rights that it " +
  "acts with. Only suspended resources can be adopted.";

/** A deleted resource, for the audit trail. */
export const DeletedResource = z.object({ id: z.string(), name: z.string() });

/** An instant: ISO 8601, UTC, milliseconds. */
export const Timestamp = z.iso.datetime().meta({ examples: ["2026-01-31T12:00:00.000Z"] });

/**
 * The body of a change: the fields that may change, and the record's other fields, so that a record that was
 * read can be sent back. The rule compares the others with the record: core/work/read_only.ts.
 */
export function changeOf<W extends z.ZodRawShape>(record: z.ZodObject, writable: W) {
  const others = Object.entries(record.shape).filter(([name]) => !Object.hasOwn(writable, name))
    .map(([name, field]) => [name, (field as z.ZodType).optional().meta({ readOnly: true })]);
  return z.strictObject({ ...Object.fromEntries(others), ...writable } as W);
}

/** A date or an instant, as callers may write it. */
const isoSpan = z.string().max(ISO_CHARS_MAX).meta({
  pattern: `^${ISO_PATTERN}$`,
  examples: ["2026-01-31T12:00:00Z", "2026-01-31"],
}).transform((text, context) => {
  const span = readIso(text);
  if (span !== null) return span;
  context.addIssue({
    code: "custom",
    message: "must be an ISO 8601 date or time, such as 2026-01-31 or 2026-01-31T12:00:00Z",
  });
  return z.NEVER;
});

/** An instant, or the beginning of a date, in ms since the epoch; in UTC unless it names another zone. */
export const Instant = isoSpan.transform(({ fromMs }) => fromMs);

/** An instant, or the last millisecond of a date, as the end of a range that includes it. */
export const LastInstant = isoSpan.transform(({ toMs }) => toMs);

/** A period, in the grammar that the rule parses. */
export const Period = z.string().min(1).max(PERIOD_CHARS_MAX).meta({
  description: `The period: ${PERIOD_FORMS}.`,
  examples: ["7d"],
});

/** A whole number in a query, in decimal digits. A tool's argument is a number already. */
export const wholeNumber = (least: number, most: number) =>
  z.preprocess(
    (said) => typeof said !== "string" ? said : /^\d+$/.test(said) ? Number(said) : NaN,
    z.int().min(least).max(most),
  );

/** A list of these words in a query, separated by commas. */
export const commaList = <const T extends readonly string[]>(words: T, most: number) =>
  z.string().max(most)
    .meta({ pattern: `^(${words.join("|")})(,(${words.join("|")}))*$` })
    .transform((text) => text.split(",")).pipe(z.array(z.enum(words)).min(1));

/** A boolean in a query. */
export const Flag = z.enum(["true", "false"]).meta({ id: "Flag" }).transform((text) =>
  text === "true"
);

/** The size of a page. */
export const PageLimit = wholeNumber(1, 200).prefault(50).meta({
  description: "The maximum number of entries.",
});

/** The query of a list: the page. */
export const PageQuery = z.strictObject({
  limit: PageLimit,
  offset: wholeNumber(0, 10_000).prefault(0).meta({
    description: "The number of entries to skip.",
  }),
});

export const Pagination = z.object({
  total: z.int(),
  limit: z.int(),
  offset: z.int(),
  has_more: z.boolean(),
}).meta({ id: "Pagination" });

/** A page of a list, under the list's name, with its position. */
export const listOf = <N extends string, T extends z.ZodType>(name: N, item: T) => {
  const items = { [name]: z.array(item) } as Record<N, z.ZodArray<T>>;
  return z.object({ ...items, pagination: Pagination });
};

/** The checks of a policy beyond its schema, for a route's `rules`. */
export const POLICY_RULE =
  "must name only existing rules, use each id once, and pass its own tests";

/** Keywords for an object whose refinement refuses these fields beside `field`. */
export const excludes = (field: string, ...others: readonly string[]) => ({
  dependentSchemas: { [field]: { not: { anyOf: others.map((other) => ({ required: [other] })) } } },
});

export const ScopeName = z.enum(SCOPE_LIST).meta({ id: "Scope" });

/** Characters for a class of a pattern: those of `\p{Cc}`, and the others that `trim` removes. */
const CONTROLS = "\\u0000-\\u001f\\u007f-\\u009f";
const SPACES = " \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff";

/** A name for people: printable, without blanks at its ends. */
export const Name = z.string().min(1).max(100).regex(
  /^[^\p{Cc}\p{Cs}]*$/u,
  "must not hold control characters",
)
  .refine((text) => text.trim() === text, "must not begin or end with a space")
  .meta({ pattern: `^[^${CONTROLS}${SPACES}]([^${CONTROLS}]*[^${CONTROLS}${SPACES}])?$` });

/** Any JSON object. */
export const JsonObject = z.record(z.string(), z.unknown());

/** A field of another system's message, of any type; the rule uses what it can. */
export const anything = (description: string) => z.unknown().optional().meta({ description });

/** The reason for a decision. */
export const Reason = z.string().max(1000)
  .refine((text) => text.isWellFormed(), "must not hold unpaired surrogates")
  .meta({ description: "The reason, for people and for the record." });

/** A JSON object of at most `bytes` as text, which canonical JSON can represent and a row can hold. */
export const boundedObject = (bytes: number) =>
  JsonObject.refine(
    (value) => canonicalBytes(value) <= bytes,
    `must be at most ${bytes} bytes of JSON, nested at most 63 deep, without unpaired ` +
      "surrogates and with finite numbers",
  );

function canonicalBytes(value: unknown): number {
  try {
    return new TextEncoder().encode(canonicalJson([value])).length - "[]".length;
  } catch {
    return Infinity;
  }
}

/** The length limits of mail addresses (RFC 5321, RFC 1035), which the format `email` implies. */
const MAILBOX = /^[^@]{1,64}@([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/;

const MailText = z.string().overwrite((text) => canonicalEmail(text) ?? "").max(254);

/** A new email, in lower case. */
export const Email = MailText
  .meta({ format: "email", pattern: z.regexes.email.source })
  .pipe(z.email({ abort: true }).regex(MAILBOX, "Invalid email address"));

/** The email of an existing account, which may exceed the length limits of new ones. */
export const KnownEmail = MailText
  .meta({ pattern: z.regexes.email.source, examples: ["you@example.com"] })
  .pipe(z.email());

/** A new password. */
export const NewPassword = z.string().superRefine((text, context) => {
  const problem = passwordProblem(text);
  if (problem !== null) context.addIssue({ code: "custom", message: problem });
}).meta({
  minLength: PASSWORD_LENGTH_MIN,
  maxLength: PASSWORD_LENGTH_MAX,
  examples: ["correct horse battery"],
});

/** The name of a role, in a path or a body. */
export const RoleName = z.string().regex(
  /^[A-Za-z0-9](?:[A-Za-z0-9 ._-]{0,62}[A-Za-z0-9])?$/,
  "must be 1 to 64 letters, digits, spaces and ._- with a letter or digit at both ends",
).meta({ description: "The name of a role.", examples: ["deployer"] });

/** A parameter of an OAuth redirect, with the characters that RFC 6749 allows. */
export const Sent = z.string().max(4096).regex(/^[\x20-\x7e]*$/, "must be printable ASCII")
  .optional();
