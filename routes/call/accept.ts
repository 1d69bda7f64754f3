import { Fault } from "../../core/fault/fault.ts";

interface Range {
  readonly type: string;
  /** From 0, never, to 1. */
  readonly quality: number;
}

/**
 * The offered media type that an `Accept` header prefers; among equals the first one named, then offered
 * (RFC 9110, 12.5.1).
 * @throws {Fault} NOT_ACCEPTABLE with what is offered
 */
export function acceptedOf<T extends string>(accept: string, offered: readonly T[]): T {
  const ranges = rangesOf(accept);
  const accepted = offered.map((type) => ({ type, at: rangeFor(type, ranges) }))
    .filter(({ at }) => (ranges[at]?.quality ?? 0) > 0)
    .sort((a, b) => ranges[b.at]!.quality - ranges[a.at]!.quality || a.at - b.at);
  if (accepted[0] !== undefined) return accepted[0].type;
  throw new Fault("NOT_ACCEPTABLE", `Accept ${offered.join(" or ")}.`, { available: offered });
}

function rangesOf(accept: string): Range[] {
  const parts = accept.trim() === "" ? ["*/*"] : accept.split(",");
  return parts.map((part) => {
    const [type, ...parameters] = part.split(";").map((each) => each.trim().toLowerCase());
    const given = parameters.find((each) => each.startsWith("q="))?.slice(2);
    const quality = given === undefined ? 1 : Number(given);
    return { type: type!, quality: quality >= 0 ? quality : 1 };
  });
}

/** The index of the most specific range for a type, or -1. */
function rangeFor(type: string, ranges: readonly Range[]): number {
  for (const wanted of [type, type.replace(/\/.*/, "/*"), "*/*"]) {
    const at = ranges.findIndex((range) => range.type === wanted);
    if (at >= 0) return at;
  }
  return -1;
}
