import { rulesOfCalls } from "../production/calls.ts";
import { ACCOUNT_RULES } from "./accounts.ts";
import { CAPTURE_RULES } from "./captures.ts";
import { STORE_READS } from "./stores.ts";
import { TRAFFIC_RULES } from "./traffic.ts";

/** What a substitution reads goes to the program that needs it, and is not shown. */
const isShown = ({ wrappers }: { readonly wrappers: readonly string[] }): boolean =>
  wrappers.at(-1) !== "$()";

/** Credentials that are read out on purpose, and other people's data. */
export const DISCLOSURE_RULES = [
  ...rulesOfCalls(STORE_READS).map((rule) =>
    rule.id === "credentials.token" ? { ...rule, match: isShown } : rule
  ),
  ...TRAFFIC_RULES,
  ...CAPTURE_RULES,
  ...ACCOUNT_RULES,
];
