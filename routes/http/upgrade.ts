import { Fault } from "../../core/fault/fault.ts";

/**
 * Turns a request into a WebSocket of that subprotocol, or of none.
 * @throws {Fault} VALIDATION_FAILED for a handshake that lacks something
 */
export function upgrade(request: Request, protocol: string | null): Deno.WebSocketUpgrade {
  try {
    return Deno.upgradeWebSocket(request, protocol === null ? {} : { protocol });
  } catch (cause) {
    const { message } = cause as Error;
    throw new Fault("VALIDATION_FAILED", `This is no WebSocket handshake: ${message}`, {
      issues: [{ path: "headers", message }],
    }, { cause });
  }
}
