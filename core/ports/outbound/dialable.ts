import type { App } from "../../work/work.ts";
import { Fault } from "../../fault/fault.ts";
import { OutboundError } from "../ports.ts";
import { checkTarget } from "./target.ts";

/**
 * The address that somebody gave in this field of a request, parsed; it is only read.
 * @throws {Fault} VALIDATION_FAILED for one that is never dialled, by its spelling
 */
export function mustBeDialable(app: App, url: string, path = "body.url"): URL {
  try {
    return checkTarget(url, app.config().outbound.allow_private_targets);
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    const { message } = error;
    throw new Fault("VALIDATION_FAILED", message, { issues: [{ path, message }] });
  }
}
