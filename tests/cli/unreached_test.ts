import { match, strictEqual as eq } from "node:assert/strict";
import { withRemedy } from "../../core/cli/unreached.ts";

Deno.test("withRemedy: says what to do about a certificate that this machine refuses", () => {
  for (const why of ["self-signed certificate", "invalid peer certificate: UnknownIssuer"]) {
    match(withRemedy(why), /DENO_CERT$/);
  }
  match(withRemedy("invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))"), /CA:FALSE/);
  eq(withRemedy("connection refused"), "connection refused");
});
