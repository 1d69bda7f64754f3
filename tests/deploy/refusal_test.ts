import assert from "node:assert/strict";
import { START_MS } from "../support/processes.ts";
import { addresses, startIsolate } from "./parts.ts";

Deno.test("hosted: without RELAY_SECRET every request gets 503 and the log says what is missing", async () => {
  const isolate = startIsolate(":memory:", {});
  try {
    const [url] = await addresses(isolate, 1);
    await isolate.line(/"the relay could not start","error":"RELAY_SECRET is not set: /, START_MS);
    const response = await fetch(`${url}/api/v1/agents`);
    assert.equal(response.status, 503);
    assert.equal(response.headers.get("retry-after"), "5");
    const { error } = await response.json();
    assert.equal(error.code, "UNAVAILABLE");
    assert.equal(error.details.request_id, response.headers.get("x-request-id"));
  } finally {
    await isolate.kill();
  }
});
