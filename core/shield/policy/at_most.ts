import { z } from "zod";

/**
 * A schema for a list or record of limited size. The size is checked before any item, because checking a hundred
 * thousand items takes seconds.
 */
export function atMost<S extends z.ZodType>(
  most: number,
  schema: S,
): z.ZodType<z.output<S>, z.input<S>> {
  const counted = z.preprocess((value, context) => {
    if (sizeOf(value) > most) context.addIssue(`must hold at most ${most}`);
    return value;
  }, schema).meta({ ...schema instanceof z.ZodRecord && { maxProperties: most } });
  return counted as unknown as z.ZodType<z.output<S>, z.input<S>>;
}

function sizeOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return typeof value === "object" && value !== null ? Object.keys(value).length : 0;
}
