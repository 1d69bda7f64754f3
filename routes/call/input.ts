import { z } from "zod";
import { Fault } from "../../core/fault/fault.ts";
import type { Route } from "./route.ts";

/** Faults that one answer tells; a body of a megabyte may have a hundred thousand. */
const ISSUES_MAX = 100;
/** Characters of each, and of the path to it, which the caller chose. */
const ISSUE_CHARS_MAX = 500;
const NO_QUERY = z.strictObject({});

/** What is not there, and what is no number in a query, said in people's words. */
z.config({
  customError: ({ code, input }) => {
    if (code !== "invalid_type") return undefined;
    if (input === undefined) return "is missing";
    return Number.isNaN(input) ? "must be a whole number in decimal digits" : undefined;
  },
});

/**
 * Checks one part of the input against its schema.
 * @throws {Fault} VALIDATION_FAILED with the path of each fault
 */
export function parse(schema: z.ZodType, value: unknown, where: string): unknown {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issues = result.error.issues.slice(0, ISSUES_MAX).map((issue) => ({
    path: short([where, ...issue.path].join(".")),
    message: short(messageOf(issue)) + knownNames(schema, issue),
  }));
  const first = issues[0]!;
  throw new Fault("VALIDATION_FAILED", `${first.path}: ${first.message}`, { issues });
}

/** What is wrong; of a name that cannot be one, why; of what fits no alternative, what each would want. */
function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_key") return `${issue.message}: ${issue.issues[0]?.message ?? ""}`;
  if (issue.code !== "invalid_union") return issue.message;
  const wanted = issue.errors.flatMap(([first]) => first === undefined ? [] : [first.message]);
  return wanted.length === 0 ? issue.message : [...new Set(wanted)].join("; or: ");
}

/** Behind a name that nobody knows, those that are known. */
function knownNames(schema: z.ZodType, { code, path }: z.core.$ZodIssue): string {
  if (code !== "unrecognized_keys" || path.length > 0 || !(schema instanceof z.ZodObject)) {
    return "";
  }
  const names = Object.keys(schema.shape);
  return `; known here: ${names.length === 0 ? "none" : names.join(", ")}`;
}

/** Of what the caller chose, as much as an answer repeats. */
export const short = (text: string): string =>
  text.length <= ISSUE_CHARS_MAX ? text : `${text.slice(0, ISSUE_CHARS_MAX).toWellFormed()}…`;

/** Parameters that HTTP libraries and links add for caches and statistics: every endpoint ignores them. */
const isNoise = (name: string): boolean => name === "_" || name.startsWith("utm_");

/**
 * The query that a route reads: one value of each name, without the names that it ignores.
 * @throws {Fault} VALIDATION_FAILED when a name has two values
 */
export function queryFor(
  route: Pick<Route, "query" | "ignoresUnknownQuery">,
  values: Readonly<Record<string, readonly string[]>>,
): Record<string, string> {
  const query: Record<string, string> = Object.create(null);
  const known = route.query?.shape ?? {};
  for (const name in values) {
    if (isNoise(name) || route.ignoresUnknownQuery && !Object.hasOwn(known, name)) continue;
    const [value, another] = values[name]!;
    if (another !== undefined) {
      const issue = { path: short(`query.${name}`), message: "is there more than once" };
      const message = `${issue.path} ${issue.message}.`;
      throw new Fault("VALIDATION_FAILED", message, { issues: [issue] });
    }
    query[name] = value!;
  }
  return query;
}

/** The query of a request outside the route table. @throws {Fault} VALIDATION_FAILED when a name has two values */
export function queryOf({ url }: Request): Record<string, string> {
  const values: Record<string, string[]> = Object.create(null);
  for (const [name, value] of new URL(url).searchParams) (values[name] ??= []).push(value);
  return queryFor({}, values);
}

/**
 * Checks the query of what takes none: a misspelt or misplaced parameter is told everywhere.
 * @throws {Fault} VALIDATION_FAILED
 */
export function parseNoQuery(query: Readonly<Record<string, unknown>>): unknown {
  for (const _ in query) return parse(NO_QUERY, query, "query");
  return query;
}
