import { Fault } from "../../fault/fault.ts";
import { type Outbound, OutboundError } from "../interfaces.ts";
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
    throw faultOf(error, path);
  }
}

/**
 * Resolves the host of the URL in the body's field `url`, so that a name that leads inside is refused when it is set
 * and not at the first event.
 * @throws {Fault} VALIDATION_FAILED when it is never dialled
 */
export async function mustResolveOutside(
  { outbound }: { readonly outbound: Pick<Outbound, "check"> },
  url: string,
  organization: string,
): Promise<void> {
  try {
    await outbound.check(url, organization);
  } catch (error) {
    throw faultOf(error, "body.url");
  }
}

/** The fault of a URL that is never dialled; other errors stay what they are. */
function faultOf(error: unknown, path: string): unknown {
  if (!(error instanceof OutboundError)) return error;
  const { message } = error;
  return new Fault("VALIDATION_FAILED", message, { issues: [{ path, message }] });
}
