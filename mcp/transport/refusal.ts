import { idsOf } from "../../core/identity/identity.ts";
import { faultOf } from "../../routes/call/fault_of.ts";
import { refusalHeaders } from "../../routes/http/refusal.ts";
import type { Visit } from "../../routes/http/serve_service.ts";
import { bugText, type Message, refusalOf } from "../json_rpc.ts";
import { challenge } from "./oauth_metadata.ts";

/** The response to an error, as JSON-RPC. */
export function refuse(visit: Visit, error: unknown, id: Message["id"]): Response {
  const { text, status } = refusalText(visit, error, id);
  const fault = faultOf(error);
  const headers = refusalHeaders(visit.envelope, fault);
  const required = fault?.details.required;
  const scopes = Array.isArray(required) && required.length > 0 ? { scopes: required } : {};
  const lacksScope = fault?.code === "INSUFFICIENT_SCOPES";
  const more = lacksScope ? { error: "insufficient_scope", ...scopes } : scopes;
  if (status === 401 || lacksScope) {
    headers["www-authenticate"] = challenge(visit.relay, visit.request, more);
  }
  return new Response(text, { status, headers });
}

/** The JSON-RPC error for the caller, with its HTTP status. Other errors are logged as bugs. */
export function refusalText(
  { relay, info }: Visit,
  error: unknown,
  id: Message["id"],
): { text: string; status: number } {
  const refusal = refusalOf(faultOf(error) ?? error, id, idsOf(info));
  if (refusal !== null) return refusal;
  relay.ports.log.error("unhandled error in an MCP request", {
    ...idsOf(info),
    error: error instanceof Error ? error.stack : String(error),
  });
  return { text: bugText(id, idsOf(info)), status: 500 };
}
