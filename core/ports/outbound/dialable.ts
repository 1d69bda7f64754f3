import { Fault } from "../../fault/fault.ts";
import { OutboundError } from "../interfaces.ts";
import { checkTarget } from "./target.ts";

/** The part of the configuration that decides which addresses may be dialled. */
interface DialPolicy {
  readonly config: () => { readonly outbound: { readonly allow_private_targets: boolean } };
}

/**
 * Parses the URL in the field at `path` of a request. Callers share the result, so they must not change it.
 * @throws {Fault} VALIDATION_FAILED when its spelling alone shows that it is never dialled
 */
export function mustBeDialable({ config }: DialPolicy, url: string, path = "body.url"): URL {
  try {
    return checkTarget(url, config().outbound.allow_private_targets);
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    const { message } = error;
    throw new Fault("VALIDATION_FAILED", message, { issues: [{ path, message }] });
  }
}
