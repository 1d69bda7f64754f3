import { z } from "zod";

/**
 * A schema with at most `max` items or members. They are counted before any is checked: checking a hundred
 * thousand of them takes seconds. For large bodies and for input from agents.
 */
export function atMost<S extends z.ZodType>(
  max: number,
  schema: S,
): z.ZodType<z.output<S>, z.input<S>> {
  const counted = z.preprocess((value, context) => {
    if (countOf(value) > max) context.addIssue(`must hold at most ${max}`);
    return value;
  }, schema).meta({ ...schema instanceof z.ZodRecord && { maxProperties: max } });
  return counted as unknown as z.ZodType<z.output<S>, z.input<S>>;
}

function countOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return typeof value === "object" && value !== null ? Object.keys(value).length : 0;
}
