import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { OWN_PAGE } from "../../support/world.ts";
import { refused } from "../account_fixtures.ts";
import { ISSUER } from "./fake_issuer.ts";
import { comeBack, open, reasonOf, START, start, verified } from "./issuer_fixtures.ts";

/** Browsers drop larger cookies. */
const BROWSERS_KEEP_BYTES = 4096;

Deno.test("issuer sign-in: the browser returns to the screen of the start, also after a failure", async () => {
  const { world, issuer } = await open();
  await using _ = world;
  const owner = await world.signUp();
  for (
    const screen of [
      "/console/approvals/apr_1",
      "/console/approvals/apr_1?space=test&text=a%2Fb+c%0D%0A",
      "/console/agents/web%201",
      "/console?space=test",
      "/console/authorize?redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcb&scope=agents%3Aread+x",
      `/console/authorize?client_id=mcp_${"x".repeat(2_000)}`,
    ]
  ) {
    const { address, cookie } = await start(world, screen);
    ok(cookie.length < BROWSERS_KEEP_BYTES);
    const answer = await comeBack(world, issuer.consent(address, verified(owner)), cookie);
    deq([answer.status, answer.headers.get("location")], [303, screen]);
    const refusal = await start(world, screen);
    const query = new URLSearchParams({
      state: new URL(refusal.address).searchParams.get("state")!,
      error: "access_denied",
      iss: ISSUER,
    });
    const failed = await comeBack(world, query, refusal.cookie);
    eq(failed.headers.get("location"), `${screen}#sign_in_failed=denied`);
  }
});

Deno.test("issuer sign-in: the browser returns to paths below /console only", async () => {
  const { world } = await open();
  await using _ = world;
  const begin = (returnTo: string) =>
    world.call(
      "GET",
      `${START}?issuer=${encodeURIComponent(ISSUER)}&return_to=${encodeURIComponent(returnTo)}`,
      { headers: OWN_PAGE },
    );
  const elsewhere = "/ https://evil.example/console //evil.example/console javascript:alert(1) " +
    "console/approvals /consoles /console@evil.example /console.evil.example /api/account/info";
  const spelled = "/console//evil.example /console/../api/account/info /console/./x /console/.. " +
    "/console/..?x=1 /console/%2e%2e/api /console/.%2E/api /console/%2Fevil.example " +
    "/console/%2f%2fevil.example /console/%5Cevil.example /console/%0d%0aset-cookie:x " +
    "/console/%00 /console/%7F /console/% /console?x=é /console#sign_in_failed=denied";
  const backslashes = String.raw`/\evil.example \\evil.example /console/\evil.example /console\x`;
  const words = [elsewhere, spelled, backslashes].join(" ").split(" ");
  const control = [
    "/console/\t/evil.example",
    "/console\r\nlocation: x",
    "/console\n",
    "/console?\0",
  ];
  for (const address of ["", " /console", ...words, ...control, `/console/${"x".repeat(2048)}`]) {
    deq(refused(await begin(address)), [400, "VALIDATION_FAILED"], JSON.stringify(address));
  }
});

Deno.test("issuer sign-in: nothing of a request decides where the browser goes", async () => {
  const { world, issuer } = await open();
  await using _ = world;
  const owner = await world.signUp();
  const begin = (issuer: string, more = "", headers: Readonly<Record<string, string>> = OWN_PAGE) =>
    world.call("GET", `${START}?issuer=${encodeURIComponent(issuer)}${more}`, { headers });
  deq(refused(await begin("https://evil.example")), [404, "NOT_FOUND"]);
  for (const more of ["&redirect_uri=https://evil.example", "&return_to=//evil.example"]) {
    deq(refused(await begin(ISSUER, more)), [400, "VALIDATION_FAILED"]);
  }
  for (const site of ["cross-site", "same-site", "none"]) {
    const headers = { "sec-fetch-site": site };
    deq(refused(await begin(ISSUER, "", headers)), [403, "FORBIDDEN"]);
  }
  const { address, cookie } = await start(world);
  const query = issuer.consent(address, verified(owner));
  query.set("redirect_uri", "https://evil.example");
  query.set("return_to", "//evil.example");
  eq((await comeBack(world, query, cookie)).headers.get("location"), "/console");
  for (
    const metadata of [
      { issuer: "https://evil.example" },
      { authorization_endpoint: "javascript:alert(1)" },
      { authorization_endpoint: "http://login.example/auth" },
      { authorization_endpoint: undefined },
    ]
  ) {
    const { world: fresh, issuer: odd } = await open();
    await using _fresh = fresh;
    odd.metadata = metadata;
    const path = `${START}?issuer=${encodeURIComponent(ISSUER)}`;
    const answer = await fresh.call("GET", path, { headers: OWN_PAGE });
    eq(reasonOf(answer), "refused", JSON.stringify(metadata));
  }
});
