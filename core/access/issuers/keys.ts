import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import { z } from "zod";
import type { App } from "../../work/work.ts";
import { Fault } from "../../fault/fault.ts";
import { OutboundError } from "../../ports/ports.ts";
import type { Issuer } from "../../work/issuer_config.ts";

/** Keys are looked at again after this. */
export const KEYS_FRESH_MS = 10 * 60 * 1000;
/** When an issuer cannot be reached, the keys it had count for this long. */
const KEYS_STALE_MS = 24 * 60 * 60 * 1000;
/** Tokens that name unknown keys, and failures, cause one look in this time. */
const LOOK_AGAIN_MS = 30_000;
const DEADLINE_MS = 5_000;
const BODY_BYTES_MAX = 256 * 1024;
const KEYS_MAX = 100;

interface Known {
  keys: JWTVerifyGetKey | null;
  /** When the keys came. */
  atMs: number;
  /** When they were last asked for. */
  triedAtMs: number;
  fetching: Promise<void> | null;
}

/** The keys of issuers, as their servers last told them. */
const knownOf = new WeakMap<App, Map<string, Known>>();

const Jwks = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).max(KEYS_MAX) });
const Metadata = z.object({ issuer: z.string(), jwks_uri: z.url({ protocol: /^https?$/ }) });

/**
 * The keys that check an issuer's tokens; `unknownKey` says that a token names one that is not among them.
 * @throws {Fault} UNAVAILABLE when there are none and the issuer cannot be asked now
 */
export async function keysOf(
  app: App,
  issuer: Issuer,
  { unknownKey = false }: { readonly unknownKey?: boolean } = {},
): Promise<JWTVerifyGetKey> {
  const known = knownAt(app, issuer);
  const now = app.ports.clock.now();
  // A clock that was set back makes what came old, too: nobody knows how old.
  const isOlder = (atMs: number, ms: number) => Math.abs(now - atMs) >= ms;
  const wanted = unknownKey || known.keys === null || isOlder(known.atMs, KEYS_FRESH_MS);
  if (wanted && (known.fetching !== null || isOlder(known.triedAtMs, LOOK_AGAIN_MS))) {
    known.fetching ??= refresh(app, issuer, known).finally(() => known.fetching = null);
    await known.fetching;
  }
  if (known.keys !== null && !isOlder(known.atMs, KEYS_STALE_MS)) return known.keys;
  throw new Fault("UNAVAILABLE", "The issuer of this token cannot be asked for its keys now.");
}

function knownAt(app: App, { issuer, jwks_uri }: Issuer): Known {
  let all = knownOf.get(app);
  if (all === undefined) knownOf.set(app, all = new Map());
  const name = `${issuer} ${jwks_uri ?? ""}`;
  let known = all.get(name);
  if (known === undefined) {
    known = { keys: null, atMs: -Infinity, triedAtMs: -Infinity, fetching: null };
    all.set(name, known);
  }
  return known;
}

/** Asks an issuer for its keys; what it had stays when it does not answer as it should. */
async function refresh(app: App, issuer: Issuer, known: Known): Promise<void> {
  known.triedAtMs = app.ports.clock.now();
  try {
    const uri = issuer.jwks_uri ?? await discover(app, issuer.issuer);
    const keys = Jwks.parse(await fetchJson(app, uri));
    known.keys = createLocalJWKSet(keys as JSONWebKeySet);
    known.atMs = app.ports.clock.now();
  } catch (error) {
    const expected = error instanceof OutboundError || error instanceof z.ZodError ||
      error instanceof errors.JOSEError || error instanceof UnusableAnswer;
    if (!expected) throw error;
    const fields = { issuer: issuer.issuer, error: String(error) };
    app.ports.log.warn("the keys of a token issuer could not be fetched", fields);
  }
}

class UnusableAnswer extends Error {}

/** Where an issuer says that its keys are. */
async function discover(app: App, issuer: string): Promise<string> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  const places = [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ];
  let failure: unknown;
  for (const place of places) {
    try {
      const said = Metadata.parse(await fetchJson(app, place));
      if (said.issuer === issuer) return said.jwks_uri;
      throw new UnusableAnswer(`${place} is the metadata of ${said.issuer}`);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

async function fetchJson(app: App, url: string): Promise<unknown> {
  const answer = await app.ports.outbound.request({
    organization: null,
    method: "GET",
    url,
    headers: { accept: "application/json" },
    deadlineMs: DEADLINE_MS,
    keepBytes: BODY_BYTES_MAX,
  });
  if (answer.status !== 200) throw new UnusableAnswer(`${url} answered ${answer.status}`);
  if (answer.truncated) throw new UnusableAnswer(`${url} answered more than ${BODY_BYTES_MAX} B`);
  try {
    return JSON.parse(answer.body);
  } catch {
    throw new UnusableAnswer(`${url} did not answer JSON`);
  }
}
