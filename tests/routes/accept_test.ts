import { deepStrictEqual as deq, strictEqual as eq, throws } from "node:assert/strict";
import { Fault } from "../../core/fault/fault.ts";
import { acceptedOf } from "../../routes/call/accept.ts";
import { World } from "../support/world.ts";

const JSON_TYPE = "application/json";
const CSV = "text/csv";
const OFFERED = [JSON_TYPE, "application/x-ndjson", CSV];

Deno.test("acceptedOf: picks the type with the highest quality, among equals the first one named", () => {
  const cases: readonly (readonly [accept: string, type: string])[] = [
    ["", JSON_TYPE],
    ["*/*", JSON_TYPE],
    ["text/csv;q=0, application/json", JSON_TYPE],
    ["application/json;q=0, */*", "application/x-ndjson"],
    ["application/*;q=0, */*;q=0.1", CSV],
    ["application/json;q=0.5, text/csv;q=0.9", CSV],
    ["application/json; q=0.5 , TEXT/CSV ; Q=0.9", CSV],
    ["text/*, application/json", CSV],
    ["*/*;q=0.1, application/x-ndjson", "application/x-ndjson"],
    ["application/json;q=much", JSON_TYPE],
  ];
  deq(cases.map(([accept]) => acceptedOf(accept, OFFERED)), cases.map(([, type]) => type));
  for (const accept of ["text/html", "text/csv;q=0", "*/*;q=0.0", "text/csv;q=0, image/*"]) {
    throws(() => acceptedOf(accept, OFFERED), (error) => {
      deq((error as Fault).details, { available: OFFERED });
      return error instanceof Fault && error.status === 406;
    });
  }
});

Deno.test("accept: no endpoint with several media types answers with one that the caller excludes", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  const cases: readonly (readonly [path: string, accept: string, status: number])[] = [
    ["/api/audit/export", "text/csv;q=0, application/json", 200],
    ["/api/audit/export", "text/csv;q=0", 406],
    ["/api/v1/compliance/report", "text/html;q=0", 406],
    ["/api/events", "text/event-stream;q=0", 406],
  ];
  for (const [path, accept, status] of cases) {
    const answer = await world.call("GET", path, { as: token, headers: { accept } });
    eq(answer.status, status, `${path} for ${accept}`);
    if (status === 200) eq(answer.headers.get("content-type"), JSON_TYPE);
  }
});
