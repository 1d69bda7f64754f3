import { Fault } from "../../core/fault/fault.ts";

interface Range {
  readonly type: string;
  /** From 0, never, to 1. */
  readonly quality: number;
}

/**
 * The media type that an `Accept` likes best, of equals the one it names first, then the one offered first
 * (RFC 9110, 12.5.1).
 * @throws {Fault} NOT_ACCEPTABLE with what is offered
 */
export function acceptedOf<T extends string>(accept: string, offered: readonly T[]): T {
  const ranges = rangesOf(accept);
  const liked = offered.map((type) => ({ type, at: rangeFor(type, ranges) }))
    .filter(({ at }) => (ranges[at]?.quality ?? 0) > 0)
    .sort((a, b) => ranges[b.at]!.quality - ranges[a.at]!.quality || a.at - b.at);
  if (liked[0] !== undefined) return liked[0].type;
  throw new Fault("NOT_ACCEPTABLE", `Accept ${offered.join(" or ")}.`, { available: offered });
}

function rangesOf(accept: string): Range[] {
  const parts = accept.trim() === "" ? ["*/*"] : accept.split(",");
  return parts.map((part) => {
    const [type, ...parameters] = part.split(";").map((each) => each.trim().toLowerCase());
    const said = parameters.find((each) => each.startsWith("q="))?.slice(2);
    const quality = said === undefined ? 1 : Number(said);
    return { type: type!, quality: quality >= 0 ? quality : 1 };
  });
}

/** Where the range stands that says most about a type, or -1. */
function rangeFor(type: string, ranges: readonly Range[]): number {
  for (const wanted of [type, type.replace(/\/.*/, "/*"), "*/*"]) {
    const at = ranges.findIndex((range) => range.type === wanted);
    if (at >= 0) return at;
  }
  return -1;
}
