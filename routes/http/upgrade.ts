import { Fault } from "../../core/fault/fault.ts";

/**
 * Upgrades a request to a WebSocket with this subprotocol, or with none.
 * @throws {Fault} VALIDATION_FAILED for an incomplete handshake
 */
export function upgrade(request: Request, protocol: string | null): Deno.WebSocketUpgrade {
  try {
    return Deno.upgradeWebSocket(request, protocol === null ? {} : { protocol });
  } catch (cause) {
    const { message } = cause as Error;
    throw new Fault("VALIDATION_FAILED", `This is not a WebSocket handshake: ${message}`, {
      issues: [{ path: "headers", message }],
    }, { cause });
  }
}
