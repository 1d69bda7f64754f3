import { createHmac } from "node:crypto";
import type { GitHookHeaders } from "../../identity/identity.ts";
import type { Context } from "../../context/context.ts";
import { nextTurn } from "../../ports/ports.ts";
import { addressOf, pathOf } from "../git/address.ts";
import { proofOf } from "./proof.ts";
import {
  CLONE_FIELDS,
  type NamedRepository,
  NAMES_MAX,
  PAGE_FIELDS,
  registered,
} from "./registrations.ts";

/** Secrets that one large body is checked against. */
const PROOFS_MAX = 100;
/** Repository names read from one body; a host repeats the same ones a few times. */
const FOUND_MAX = 64;

/** True for a push with a header that may prove the secret of a repository. */
export const claimsProof = (headers: GitHookHeaders): boolean =>
  headers.hubSignature !== null || headers.giteaSignature !== null ||
  headers.gitlabToken !== null || headers.webhookSignature !== null;

/**
 * True for a body that is signed with the secret of a repository that it names. The names are found by a
 * regular expression, because parsing the body of an unproved sender would cost too much. The response time does
 * not reveal whether a repository is registered: an unknown one costs a signature too.
 */
export async function isProvedPush(
  parts: Pick<Context, "store" | "sealer" | "ports">,
  headers: GitHookHeaders,
  bytes: Uint8Array,
): Promise<boolean> {
  let tried = 0;
  for (const named of namedIn(bytes)) {
    for await (const { record } of registered(parts.store, named)) {
      if (record.sealed_webhook_secret === null) continue;
      if (tried++ === PROOFS_MAX) return false;
      if (proofOf(parts, record, headers, bytes) !== null) return true;
      await nextTurn();
    }
  }
  if (tried === 0) createHmac("sha256", "nobody's").update(bytes).digest("hex");
  return false;
}

const pattern = (fields: readonly string[]) =>
  new RegExp(
    `"(${fields.join("|")})"[ \\t\\r\\n]{0,16}:[ \\t\\r\\n]{0,16}("(?:[^"\\\\]|\\\\[^]){1,512}")`,
    "g",
  );
/** The fields in which hosts name the repository, and the short form of Relay's own interface. */
const NAMES = pattern([...CLONE_FIELDS, "repository"]);
/** Fields that other objects of a push have too, so they are read only when `NAMES` finds nothing. */
const OTHER_NAMES = pattern(PAGE_FIELDS);

function namedIn(bytes: Uint8Array): NamedRepository[] {
  const text = new TextDecoder().decode(bytes);
  const named = namesOf(text, NAMES);
  return named.some(({ addresses, path }) => addresses.length > 0 || path !== null)
    ? named
    : namesOf(text, OTHER_NAMES);
}

function namesOf(text: string, names: RegExp): NamedRepository[] {
  const addresses = new Set<string>(), paths = new Set<string>();
  let found = 0;
  for (const [, field, literal] of text.matchAll(names)) {
    if (found++ === FOUND_MAX) break;
    const name = textOf(literal!);
    const address = name === null ? null : addressOf(name);
    if (address !== null) addresses.add(address);
    else if (name !== null && field === "repository") paths.add(pathOf(name));
  }
  return [
    { addresses: [...addresses], path: null },
    ...[...paths].slice(0, NAMES_MAX).map((path) => ({ addresses: [], path })),
  ];
}

function textOf(literal: string): string | null {
  try {
    return JSON.parse(literal);
  } catch {
    return null;
  }
}
