import assert from "node:assert/strict";
import { OutboundError, type OutboundErrorKind } from "../../core/ports/interfaces.ts";

/** That a request fails in this way, and says why. */
export async function assertFails(
  work: Promise<unknown>,
  kind: OutboundErrorKind,
  message = /./,
): Promise<void> {
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof OutboundError, String(error));
    assert.equal(error.kind, kind, error.message);
    assert.match(error.message, message);
    return true;
  });
}
