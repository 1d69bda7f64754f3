import { hash } from "node:crypto";
import type { Tenant } from "../../../../kv/store/collection.ts";
import {
  type IntegrationRecord,
  integrations,
  type OauthFlowRecord,
  oauthFlows,
} from "../../../../kv/records/integration.ts";
import type { Found } from "../../../../kv/store/reader.ts";
import type { Stepping } from "../../../work/work.ts";
import { Redirect, WithCookie } from "../../../identity/identity.ts";
import type { Actor } from "../../../identity/identity.ts";
import type { Context } from "../../../context/context.ts";
import { ANONYMOUS } from "../../../access/access.ts";
import { emit, type Reauthorization } from "../../../events/events.ts";
import { Fault } from "../../../fault/fault.ts";
import { constantTimeEqual, iso } from "../../../codec/codec.ts";
import { mustReadTopics, showIntegration } from "../manage.ts";
import { FLOWS_MAX, oauthClientOf, openFlows, ownedIntegration } from "../record.ts";
import { stageRevocations } from "../revoke.ts";
import type { OauthClient } from "../service.ts";
import { authorizationUrl, discover, exchangeCode } from "./provider.ts";
import { withConsent } from "./tokens.ts";

const FLOW_MS = 10 * 60 * 1000;
/** 256 bits, for state, code verifier and cookie. */
const SECRET_BYTES = 32;
/** The common prefix of flow cookies; the rest distinguishes the flows of one browser. */
export const FLOW_COOKIE = "relay-oauth-";
const RIGHT = "system:write";
/** The end of a cookie whose flow returns to the console. Only a fixed page follows from it. */
const TO_CONSOLE = ".console";
const CONSOLE = "/console/integrations";
const CALLBACK = "/api/integrations/oauth/callback";

/** The callback parameters that are read. */
export interface CallbackQuery {
  readonly state?: string | undefined;
  readonly code?: string | undefined;
  readonly iss?: string | undefined;
  readonly error?: string | undefined;
}

/**
 * Begins an OAuth flow: returns the URL for the browser, and a cookie that authenticates its return.
 * @throws {Fault} FORBIDDEN, NOT_FOUND, INSUFFICIENT_SCOPES, CONFLICT, UNAVAILABLE
 */
export async function beginFlow(
  work: Stepping,
  origin: string,
  { integration_id: integrationId, to_console }: {
    readonly integration_id: string;
    readonly to_console?: boolean | undefined;
  },
) {
  const { store, ports, sealer, actor } = work;
  const integration = await ownedIntegration(work, integrationId);
  mustReadTopics(actor, integration.config);
  const client = clientOf(work, integration);
  const provider = await discover(work, actor.tenant.org, client);
  const [state, verifier, secret] = [newSecret(ports), newSecret(ports), newSecret(ports)];
  const cookie = to_console ? secret + TO_CONSOLE : secret;
  const redirectUri = `${origin}${CALLBACK}`;
  const authorize_url = await authorizationUrl(provider, client, { state, verifier, redirectUri });
  const expires_at_ms = ports.clock.now() + FLOW_MS;
  const id = ports.entropy.id("oaf");
  await store.transact(async (tx) => {
    const record = await ownedIntegration({ db: tx, actor }, integrationId);
    if ((await openFlows(tx, actor.tenant, record.id)).length >= FLOWS_MAX) {
      throw new Fault(
        "CONFLICT",
        `There are already ${FLOWS_MAX} open flows. Finish one, or wait ten minutes.`,
      );
    }
    tx.insert(oauthFlows, actor.tenant, {
      id,
      integration_id: record.id,
      user_id: actor.userId,
      begun_by: {
        kind: actor.kind === "api_key" ? "api_key" : "user",
        id: actor.id,
        session_id: actor.sessionId,
        value_hash: actor.key?.valueHash ?? "",
        ends_at_ms: Math.min(actor.expiresAtMs, expires_at_ms),
      },
      state_hash: hash("sha256", state),
      cookie_hash: hash("sha256", cookie),
      sealed_verifier: sealer.seal(verifier, id),
      expires_at_ms,
    });
    tx.put(integrations, actor.tenant, { ...record, provider });
    emit(work, tx, actor.tenant, {
      type: "integration_flow_begun",
      resource: { type: "integration", id: record.id },
      details: { name: record.name, type: record.type, issuer: provider.issuer },
    });
    work.recordUse(tx, 200);
  });
  return new WithCookie(
    { authorize_url, state, expires_at: iso(expires_at_ms) },
    { name: cookieOf(state), value: cookie, maxAgeSeconds: FLOW_MS / 1000 },
  );
}

interface FinishParts {
  readonly origin: string;
  readonly authenticator: Reauthorization;
}

/**
 * Handles the provider's callback. A browser of the console is sent back to it with the outcome, because a person
 * waits there.
 * @throws {Fault} as `connect`, for other callers
 */
export async function finishFlow(work: Stepping, parts: FinishParts, query: CallbackQuery) {
  const { state = "" } = query;
  const over = { name: cookieOf(state), value: null, maxAgeSeconds: 0 };
  const isConsole = work.request.cookie(over.name)?.endsWith(TO_CONSOLE) === true;
  try {
    const connected = await connect(work, parts, query);
    return isConsole
      ? new Redirect(`${CONSOLE}?connected=${connected.id}`, [over])
      : new WithCookie(connected, over);
  } catch (error) {
    if (!isConsole || !(error instanceof Fault)) throw error;
    return new Redirect(`${CONSOLE}?connect_failed=${error.code}`, []);
  }
}

/**
 * Once: identifies the user, consumes the state, then exchanges the code.
 * @throws {Fault} MISSING_CREDENTIALS, FORBIDDEN, INSUFFICIENT_SCOPES, VALIDATION_FAILED, CONFLICT, UNAVAILABLE
 */
async function connect(
  work: Stepping,
  { origin, authenticator }: FinishParts,
  query: CallbackQuery,
) {
  const { store, sealer, signals } = work;
  const { state = "" } = query;
  const found = await store.lookup(oauthFlows, "state", [hash("sha256", state)]);
  const actor = await returningUser(work, authenticator, state, found);
  if (found === null) throw unknownState();
  const { tenant, record: flow } = found;
  const record = await consumeState(store, actor, tenant, flow);
  mustReadTopics(actor, record.config);
  const client = clientOf(work, record);
  const provider = record.provider;
  if (provider === null) throw unknownState();
  const sent = Object.entries(query).filter(([, value]) => value !== undefined);
  const as = { ...work, actor };
  const resource = { type: "integration", id: record.id } as const;
  const details = { name: record.name, type: record.type };
  try {
    const answer = await exchangeCode(work, tenant.org, provider, client, {
      answer: new URLSearchParams(sent as [string, string][]),
      state,
      verifier: sealer.open(flow.sealed_verifier, flow.id),
      redirectUri: `${origin}${CALLBACK}`,
    });
    const connected = await store.transact(async (tx) => {
      const now = await tx.get(integrations, tenant, record.id);
      const caller = await authenticator.current(actor);
      if (now === null || !caller?.rights.has(RIGHT)) {
        stageRevocations(work, tx, tenant, withConsent(work, record, answer));
        return null;
      }
      const next = tx.put(integrations, tenant, withConsent(work, now, answer));
      emit(as, tx, tenant, {
        type: "integration_connected",
        resource,
        details: { ...details, issuer: provider.issuer, scope: answer.scope ?? null },
      });
      work.recordUse(tx, 200);
      tx.afterCommit(() => signals.integrationDue.send(tenant));
      return next;
    });
    if (connected === null) {
      await authenticator.mustStillHave(actor, [RIGHT]);
      throw new Fault("NOT_FOUND", "This integration was deleted during the flow.");
    }
    return await showIntegration({ sealer, db: store, actor }, connected);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    await store.transact((tx) => {
      const refused = { ...details, code: error.code, error: error.message };
      emit(as, tx, tenant, { type: "integration_refused", resource, details: refused });
    });
    throw error;
  }
}

/** Deletes the flow, so that its state works only once. */
async function consumeState(
  store: Context["store"],
  actor: Actor,
  tenant: Tenant,
  { id }: OauthFlowRecord,
): Promise<IntegrationRecord> {
  return await store.transact(async (tx) => {
    const flow = await tx.get(oauthFlows, tenant, id);
    if (flow === null) throw unknownState();
    tx.delete(oauthFlows, tenant, id);
    return await ownedIntegration({ db: tx, actor }, flow.integration_id);
  });
}

const unknownState = () =>
  new Fault("VALIDATION_FAILED", "This state is unknown, already used or expired. Begin again.", {
    issues: [{ path: "query.state", message: "is unknown, already used or expired" }],
  });

/** The user who began the flow, by a credential or by the cookie that `beginFlow` set. */
async function returningUser(
  { actor, request }: Stepping,
  authenticator: Reauthorization,
  state: string,
  found: Found<OauthFlowRecord> | null,
): Promise<Actor> {
  if (actor.kind !== "anonymous") {
    if (found !== null && found.record.user_id !== actor.userId) {
      throw new Fault("FORBIDDEN", "Another user began this flow. Begin your own.");
    }
    return mustHave(actor);
  }
  const shown = request.cookie(cookieOf(state));
  if (shown === null) throw new Fault("MISSING_CREDENTIALS");
  if (found === null) throw unknownState();
  const { tenant, record } = found;
  if (!constantTimeEqual(hash("sha256", shown), record.cookie_hash)) {
    throw new Fault("MISSING_CREDENTIALS", "The cookie does not belong to this flow. Begin again.");
  }
  return mustHave(await beginnerOf(authenticator, tenant, record));
}

function mustHave(actor: Actor): Actor {
  if (actor.rights.has(RIGHT)) return actor;
  throw new Fault("INSUFFICIENT_SCOPES", `This requires ${RIGHT}.`, {
    required: [RIGHT],
    granted: [...actor.rights],
  });
}

/**
 * The user who began the flow, with present rights.
 * @throws {Fault} INVALID_TOKEN when the credential that began it has ended
 */
async function beginnerOf(
  authenticator: Reauthorization,
  tenant: Tenant,
  { user_id: userId, begun_by }: OauthFlowRecord,
): Promise<Actor> {
  const { kind, id, session_id: sessionId, value_hash: valueHash, ends_at_ms } = begun_by;
  const key = {
    type: "live",
    limits: null,
    valueHash,
    oldSinceMs: null,
    oldUntilMs: null,
  } as const;
  const then: Actor = {
    ...ANONYMOUS,
    kind,
    id,
    tenant,
    userId,
    sessionId,
    expiresAtMs: ends_at_ms,
    key: kind === "api_key" ? key : null,
  };
  const now = await authenticator.current(then);
  if (now !== null) return now;
  throw new Fault(
    "INVALID_TOKEN",
    "The credential that began this flow has ended. Sign in again.",
    {
      reason: "ended",
    },
  );
}

/** @throws {Fault} CONFLICT for an integration without OAuth */
function clientOf(context: Pick<Context, "sealer">, record: IntegrationRecord): OauthClient {
  const client = oauthClientOf(context, record);
  if (client !== null) return client;
  throw new Fault("CONFLICT", "This integration does not use OAuth.");
}

const newSecret = ({ entropy }: Pick<Context["ports"], "entropy">): string =>
  entropy.bytes(SECRET_BYTES).toBase64({ alphabet: "base64url", omitPadding: true });

const cookieOf = (state: string): string => FLOW_COOKIE + hash("sha256", state).slice(0, 16);
