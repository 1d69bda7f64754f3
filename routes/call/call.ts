import type { Fault } from "../../core/fault/fault.ts";
import type { Relay } from "../../core/relay.ts";
import type { Actor, RequestInfo } from "../../core/identity/identity.ts";
import type { Context } from "../../core/context/context.ts";
import { EFFECTS, Recorded } from "./effects.ts";
import { faultOf } from "./fault_of.ts";
import { parse, parseNoQuery } from "./input.ts";
import { recordDenial, recordUse } from "./records.ts";
import { resolveAgent } from "./resolve_agent.ts";
import { lacking, missingRights } from "./rights.ts";
import type { Route } from "./route.ts";

/** The input as the transport read it, before any check. */
export interface RawInput {
  readonly params: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  /** Reads the body; called only when the route takes one. */
  readonly body: () => unknown;
  /** The text of the body once it was read; absent where there is no such text. */
  readonly bodyText?: () => string;
  readonly accept: string;
  /**
   * Authenticates the caller again after the body has arrived, because rights may end while a client holds
   * its body back. Absent for a transport that has done so. @throws {Fault}
   */
  readonly identifyAgain?: () => Promise<Actor>;
  /** Learns the id of the agent that the call names. */
  readonly namesAgent?: (id: string) => void;
}

/**
 * The one path from any transport to a rule: check the input, run the rule, write the audit trail. The
 * record of a key's use is durable before this returns or throws.
 * @throws {Fault}, or any other error for a bug
 */
export async function call(
  relay: Relay,
  route: Route,
  caller: Actor,
  request: RequestInfo,
  raw: RawInput,
): Promise<unknown> {
  let actor = caller;
  try {
    const input = {
      params: route.params && parse(route.params, raw.params, "params"),
      query: route.query ? parse(route.query, raw.query, "query") : parseNoQuery(raw.query),
      body: route.body && parse(route.body, await raw.body(), "body"),
      bodyText: raw.bodyText?.() ?? "",
      accept: raw.accept,
    };
    if (route.body && raw.identifyAgain && caller.kind !== "anonymous") {
      actor = await raw.identifyAgain();
      const missing = missingRights(route, actor);
      if (missing !== null) throw lacking(actor, missing);
    }
    if (route.agent !== undefined) {
      const id = await resolveAgent(relay, actor, route.agent, input);
      if (id !== null) raw.namesAgent?.(id);
    }
    return await EFFECTS[route.effect](relay, route, actor, request, input as never);
  } catch (error) {
    const used = error instanceof Recorded;
    const cause = used ? error.cause : error;
    await recordFailure(relay, route, actor, request, faultOf(cause), used);
    throw cause;
  }
}

/** Records a denial, and the use of a key unless it is recorded already. */
async function recordFailure(
  log: Pick<Context, "store" | "ports" | "signals">,
  route: Route,
  actor: Actor,
  request: RequestInfo,
  fault: Fault | null,
  used: boolean,
): Promise<void> {
  // A blocked command has an event of the shield's own.
  const denied = fault?.status === 403 && fault.code !== "COMMAND_BLOCKED";
  if (denied && actor.kind !== "anonymous") {
    const { required } = fault.details;
    const reason = required === undefined ? {} : { required };
    await recordDenial(log, route, actor, request, reason, used);
  } else if (!used) await recordUse(log, route, actor, request, fault?.status ?? 500);
}
