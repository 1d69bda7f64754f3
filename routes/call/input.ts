import { z } from "zod";
import { Fault } from "../../core/fault/fault.ts";
import type { Route } from "./route.ts";

/** The most issues that one response lists; a body of 1 MB may have 100,000. */
const ISSUES_MAX = 100;
/** The most characters of an issue's message, and of its path, which the caller chose. */
const ISSUE_CHARS_MAX = 500;
const NO_QUERY = z.strictObject({});

/** Plain messages for what is missing, and for text in a query that is not a number. */
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

/** The message of an issue. For an invalid name it adds the reason; for a union it joins what each alternative wants. */
function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_key") return `${issue.message}: ${issue.issues[0]?.message ?? ""}`;
  if (issue.code !== "invalid_union") return issue.message;
  const wanted = issue.errors.flatMap(([first]) => first === undefined ? [] : [first.message]);
  return wanted.length === 0 ? issue.message : [...new Set(wanted)].join("; or: ");
}

/** The end of a message about an unknown name: the list of known names. */
function knownNames(schema: z.ZodType, { code, path }: z.core.$ZodIssue): string {
  if (code !== "unrecognized_keys" || path.length > 0 || !(schema instanceof z.ZodObject)) {
    return "";
  }
  const names = Object.keys(schema.shape);
  return `; known here: ${names.length === 0 ? "none" : names.join(", ")}`;
}

/** As much of a caller's text as a response repeats. */
export const short = (text: string): string =>
  text.length <= ISSUE_CHARS_MAX ? text : `${text.slice(0, ISSUE_CHARS_MAX).toWellFormed()}…`;

/** HTTP libraries and links add these parameters for caches and statistics. Every endpoint ignores them. */
const isNoise = (name: string): boolean => name === "_" || name.startsWith("utm_");

/**
 * The query that a route reads: one value for each name, without the names that it ignores.
 * @throws {Fault} VALIDATION_FAILED when a name occurs twice
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
      const issue = { path: short(`query.${name}`), message: "is given more than once" };
      const message = `${issue.path} ${issue.message}.`;
      throw new Fault("VALIDATION_FAILED", message, { issues: [issue] });
    }
    query[name] = value!;
  }
  return query;
}

/**
 * Refuses any parameter where none is taken, so that a misspelt or misplaced one is noticed everywhere.
 * @throws {Fault} VALIDATION_FAILED
 */
export function parseNoQuery(query: Readonly<Record<string, unknown>>): unknown {
  for (const _ in query) return parse(NO_QUERY, query, "query");
  return query;
}
