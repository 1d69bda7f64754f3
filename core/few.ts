import { z } from "zod";

/**
 * What has at most so many items, or names, which are counted before any of them is looked at: checking a hundred
 * thousand of them takes seconds. For large bodies and what comes from agents.
 */
export function few<S extends z.ZodType>(
  most: number,
  schema: S,
): z.ZodType<z.output<S>, z.input<S>> {
  const counted = z.preprocess((value, context) => {
    if (countOf(value) > most) context.addIssue(`must hold at most ${most}`);
    return value;
  }, schema).meta({ ...schema instanceof z.ZodRecord && { maxProperties: most } });
  return counted as unknown as z.ZodType<z.output<S>, z.input<S>>;
}

function countOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return typeof value === "object" && value !== null ? Object.keys(value).length : 0;
}
