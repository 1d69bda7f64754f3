/** What the API gives for “no limit”. */
export const UNLIMITED = 2_147_483_647;
/** What people write for it. */
const NO_LIMIT = "unlimited";

/** A limit in words. */
export const limitWords = (limit: number): string => limit >= UNLIMITED ? "no limit" : `${limit}`;

/** An override as it is typed: null is no limit, and undefined follows the plan. */
export const overrideWords = (limit: number | null | undefined): string =>
  limit === null ? NO_LIMIT : `${limit ?? ""}`;

/** A typed override. @throws {Error} for anything else: a wrong figure must not lift the limit */
export function overrideOf(typed: string): number | null | undefined {
  const text = typed.trim();
  if (text === "") return undefined;
  if (text === NO_LIMIT) return null;
  if (/^\d+$/.test(text)) return Number(text);
  throw new Error(`Write a whole number, “${NO_LIMIT}” or nothing.`);
}
