import { deepStrictEqual as deq, ok, strictEqual as eq, throws } from "node:assert/strict";
import { draftOf } from "../../console/app/draft.ts";
import { durationOf } from "../../console/app/components/duration.ts";
import { HIDDEN } from "../../console/app/components/hidden_characters.ts";
import { overrideOf, overrideWords } from "../../console/app/components/limit_words.ts";
import { axisFor, shareOf, shortNumber } from "../../console/app/components/scale.ts";
import {
  configOf,
  fieldsOf,
} from "../../console/app/screens/connections/integration/config_fields.ts";
import {
  failureShare,
  isDue,
} from "../../console/app/screens/connections/webhook/delivery_words.ts";
import { headersOf, linesOf } from "../../console/app/screens/connections/webhook/header_lines.ts";
import { SNIPPETS } from "../../console/app/screens/connections/webhook/signature_snippets.ts";
import { mayGive, rightsByRole } from "../../console/app/screens/organization/permissions.ts";
import { signDelivery } from "../../core/delivery/webhooks/signing.ts";
import { type Scope, SCOPE_LIST } from "../../core/identity/scopes.ts";

Deno.test("console: an axis ends at a round value at or above the largest, in few whole steps", () => {
  deq(axisFor(0), { end: 1, ticks: [0, 1] });
  deq(axisFor(1), { end: 1, ticks: [0, 1] });
  deq(axisFor(3), { end: 3, ticks: [0, 1, 2, 3] });
  deq(axisFor(39), { end: 40, ticks: [0, 10, 20, 30, 40] });
  deq(axisFor(1_001), { end: 1_500, ticks: [0, 500, 1_000, 1_500] });
  for (let n = 1; n < 1e9; n = Math.ceil(n * 1.7)) {
    const { end, ticks } = axisFor(n);
    ok(end >= n && ticks.length <= 5 && ticks.every(Number.isInteger), `${n}: ${ticks}`);
  }
});

Deno.test("console: a share of an axis is between 0 and 1, and numbers are short", () => {
  deq([shareOf(5, 10), shareOf(11, 10), shareOf(-1, 10), shareOf(1, 0)], [.5, 1, 0, 0]);
  deq([0, 950, 1_234, 12_600, 3.5e7].map(shortNumber), ["0", "950", "1.2k", "13k", "35M"]);
});

Deno.test("console: a duration is never longer than it is, nor 60 of a unit", () => {
  deq([850, 12_499, 59_960, 60_000, 119_700, 3_600_000].map(durationOf), [
    "850 ms",
    "12.4 s",
    "59.9 s",
    "1 min 0 s",
    "1 min 59 s",
    "1 h 0 min",
  ]);
});

Deno.test("console: every character that is not seen counts as hidden, but line breaks and tabs", () => {
  const missed: string[] = [];
  for (let code = 0; code <= 0x10ffff; code++) {
    const one = String.fromCodePoint(code);
    const isUnseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(one) && !"\n\t".includes(one);
    if (isUnseen && one.replace(HIDDEN, "") !== "") missed.push(code.toString(16));
  }
  deq(missed, []);
});

Deno.test("console: a person's rights name every role that gives them", () => {
  const role = (name: string, permissions: string[]) => ({
    name,
    permissions,
    built_in: false,
    created_at: null,
    created_by: null,
    updated_at: null,
  });
  const roles = [
    role("owner", ["all"]),
    role("dev", ["agents:read"]),
    role("ops", ["agents:read", "agents:write"]),
  ];
  deq(rightsByRole(["dev", "ops"], roles, SCOPE_LIST), [
    { right: "agents:read", from: ["dev", "ops"] },
    { right: "agents:write", from: ["ops"] },
  ]);
  eq(rightsByRole(["owner"], roles, SCOPE_LIST).length, SCOPE_LIST.length);
});

Deno.test("console: a role is given by those who have all its rights, and ownership by owners", () => {
  const viewer = (roles: string[], scopes: readonly Scope[]) => ({
    user: { id: "usr_1", email: "a@example.com", created_at: "", roles },
    scopes,
  });
  const [owner, admin] = [viewer(["owner"], SCOPE_LIST), viewer(["admin"], SCOPE_LIST)];
  const narrow = viewer(["keeper"], ["system:write", "agents:read"]);
  const roles = [
    { name: "owner", permissions: ["all"] },
    { name: "admin", permissions: ["all"] },
    { name: "dev", permissions: ["agents:read"] },
  ];
  const given = (by: typeof owner) =>
    roles.filter((role) => mayGive(by, role, SCOPE_LIST)).map(({ name }) => name);
  deq([owner, admin, narrow].map(given), [["owner", "admin", "dev"], ["admin", "dev"], ["dev"]]);
});

Deno.test("console: a field follows the relay until somebody types, and says when others changed it meanwhile", () => {
  const typed = { typed: ["b"], base: ["a"], isSaved: false };
  deq(draftOf(null, ["a"]), { value: ["a"], isChanged: false, isOvertaken: false });
  deq(draftOf(typed, ["a"]), { value: ["b"], isChanged: true, isOvertaken: false });
  deq(draftOf(typed, ["c"]), { value: ["b"], isChanged: true, isOvertaken: true });
  // Others changed it to the same, or it was saved.
  deq(draftOf(typed, ["b"]), { value: ["b"], isChanged: false, isOvertaken: false });
  deq(draftOf({ ...typed, isSaved: true }, ["B"]), {
    value: ["b"],
    isChanged: false,
    isOvertaken: false,
  });
});

Deno.test("console: an override of a limit is a number, no limit or nothing, and a typing error lifts no limit", () => {
  deq(["", " 600 ", "unlimited"].map(overrideOf), [undefined, 600, null]);
  deq([undefined, 600, null].map(overrideWords), ["", "600", "unlimited"]);
  for (const typed of ["6O0", "-1", "1.5", "Infinity", "no limit"]) {
    throws(() => overrideOf(typed), /whole number/);
  }
});

Deno.test("console: a configuration has the typed fields, the lists, and no empty text", () => {
  const fields = fieldsOf({
    secrets: ["token"],
    config_schema: {
      required: ["url"],
      properties: {
        url: { type: "string", default: "https://git.example.com" },
        token: { type: "string", description: "A token." },
        region: { type: "string", enum: ["us", "eu"], default: "us" },
        topics: { type: "array", items: { enum: ["alerts", "reports"] }, default: ["alerts"] },
        scopes: { type: "array", items: { type: "string" } },
      },
    },
  });
  deq(
    fields.map((
      { name, kind, isRequired, isSecret, preset },
    ) => [name, kind, isRequired, isSecret, preset]),
    [
      ["url", "text", true, false, "https://git.example.com"],
      ["token", "text", false, true, ""],
      ["region", "choice", false, false, "us"],
      ["topics", "choices", false, false, "alerts"],
      ["scopes", "lines", false, false, ""],
    ],
  );
  deq(configOf(fields, { region: "eu", topics: "alerts\nreports", scopes: " repo \n\nuser" }), {
    url: "https://git.example.com",
    region: "eu",
    topics: ["alerts", "reports"],
    scopes: ["repo", "user"],
  });
});

Deno.test("console: headers are lines, and come back as they were", () => {
  const headers = { Authorization: "Bearer a:b", "X-Empty": "" };
  deq(headersOf(linesOf(headers)), headers);
  deq(headersOf("\n X-Team :  ops \nX-None"), { "X-Team": "ops", "X-None": "" });
});

Deno.test("console: the failure share counts only attempted deliveries, and a delivery is due in time", () => {
  const of = (status: "pending" | "sending" | "succeeded" | "failed" | "timed_out") => ({ status });
  eq(failureShare([of("pending"), of("sending")]), null);
  deq(failureShare([of("pending"), of("succeeded"), of("failed"), of("timed_out")]), {
    failed: 2,
    of: 3,
  });
  const at = (next: string | null) => ({ held: false, next_attempt_at: next });
  const nowMs = Date.parse("2030-01-01T00:00:00.000Z");
  deq(
    [
      isDue({ status: "pending", ...at(null) }, nowMs),
      isDue({ status: "pending", ...at(null), held: true }, nowMs),
      isDue({ status: "failed", ...at(null) }, nowMs),
      isDue({ status: "failed", ...at("2030-01-01T00:00:01.000Z") }, nowMs),
      isDue({ status: "failed", ...at("2030-01-01T00:00:30.000Z") }, nowMs),
    ],
    [true, false, false, true, false],
  );
});

Deno.test("console: the signature snippets are those of the docs, and accept a real delivery", async () => {
  const docs = await Deno.readTextFile("docs/webhooks.md");
  for (const [language, text] of Object.entries(SNIPPETS)) {
    ok(
      docs.includes(
        text.slice(text.indexOf(language === "Python" ? "import base64" : "import { createHmac")),
      ),
      language,
    );
  }
  const { verify } = await import(`data:text/javascript,${encodeURIComponent(SNIPPETS.Deno)}`);
  const body = "{}", secret = "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0";
  const headers = signDelivery({
    body,
    secret,
    deliveryId: "dlv_1",
    timestampMs: Date.now(),
    eventType: "ping",
    eventTimestamp: "2030-01-01T00:00:00.000Z",
  });
  deq([verify(secret, headers, body), verify(secret, headers, "{ }")], [true, false]);
});
