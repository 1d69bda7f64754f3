/** What the API gives for “no limit”. */
export const UNLIMITED = 2_147_483_647;

/** A limit in words. */
export const limitWords = (limit: number): string => limit >= UNLIMITED ? "no limit" : `${limit}`;
