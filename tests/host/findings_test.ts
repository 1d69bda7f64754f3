import assert from "node:assert/strict";
import {
  type Finding,
  judgeAddress,
  judgeBackup,
  judgeCertificate,
  judgeClock,
  judgeDisk,
  judgeIntegrity,
  judgeJobs,
  judgeRetention,
  judgeSchema,
  judgeSecret,
  judgeSize,
  judgeStore,
} from "../../core/host/backup/findings.ts";
import { sealersOf } from "../../core/host/backup/manifest.ts";
import { seededBytes } from "../support/seeded.ts";

const MIB = 1024 * 1024;
const MINUTE_MS = 60_000;
const NOW_MS = Date.UTC(2030, 0, 1);
const CERTIFICATE = new URL("../fixtures/tls/localhost.pem", import.meta.url);

/** Each finding in the state that is named, and, where something is to be done, with what. */
function expect(cases: readonly [Finding, Finding["state"], RegExp][]): void {
  for (const [finding, state, text] of cases) {
    assert.equal(finding.state, state, finding.text);
    assert.match(finding.text, text);
  }
}

Deno.test("judgeStore: notes a store that others can read", () => {
  expect([
    [judgeStore("relay.kv", true, 0o100600), "ok", /^relay\.kv, a relay serves it$/],
    [judgeStore("relay.kv", false, null), "ok", /^relay\.kv, no relay has it open$/],
    [judgeStore("relay.kv", false, 0o100640), "note", /chmod 600/],
  ]);
});

Deno.test("judgeBackup: late after two periods of the schedule, and noted without one", () => {
  const [HOUR, DAY] = [60 * MINUTE_MS, 24 * 60 * MINUTE_MS];
  const judge = (agoMs: number | null, everyMs: number | null, served = true) =>
    judgeBackup(agoMs === null ? null : NOW_MS - agoMs, {
      everyMs,
      fault: null,
      nowMs: NOW_MS,
      served,
    });
  expect([
    [judge(2 * HOUR - 1, HOUR), "ok", /^the newest was taken at 2029-12-31T22:/],
    [judge(2 * HOUR, HOUR), "fault", /one is due every 1 h: see the log of the relay/],
    [judge(2 * HOUR, HOUR, false), "note", /the relay takes one at its start$/],
    [judge(-400 * DAY, DAY), "fault", /taken at 2031-/],
    [judge(null, DAY), "fault", /^none is known, one is due/],
    [judge(6 * DAY, null), "ok", /^the newest/],
    [judge(7 * DAY, null), "note", /set `backups` in RELAY_CONFIG, or run `relay backup`$/],
    [judge(null, null), "note", /^none is known: set/],
  ]);
});

Deno.test("judgeIntegrity, judgeSchema: damage and a newer schema are faults, an older one is brought up to date", () => {
  expect([
    [judgeIntegrity([]), "ok", /every page/],
    [judgeIntegrity(["row 1 missing"]), "fault", /row 1 missing.*relay restore/],
    [judgeSchema(3, false, 3), "ok", /^3,/],
    [judgeSchema(2, false, 3), "note", /next start migrates it/],
    [judgeSchema(3, true, 3), "note", /was interrupted: the next start completes it/],
    [judgeSchema(4, false, 3), "fault", /start a newer Relay/],
  ]);
});

Deno.test("judgeSecret: a missing, wrong or incomplete secret, or one that others can read, is a fault", () => {
  const sealersFor = (...secrets: string[]) =>
    secrets.flatMap((secret) => sealersOf({ secret, olderSecrets: [] }, seededBytes(1)));
  const [one, two] = ["the first secret of all", "the second secret of all"];
  const [first, second] = sealersFor(one, two).map((sealer) => sealer.fingerprint());
  expect([
    [judgeSecret([first!], sealersFor(one), 0o100600), "ok", /opens the sealed values/],
    [judgeSecret([first!], sealersFor(one), 0), "ok", /opens the sealed values/],
    [judgeSecret([first!], [], 0), "fault", /RELAY_SECRET/],
    [judgeSecret([first!], sealersFor(two), 0), "fault", /not the secret of this store/],
    [judgeSecret([first!, second!], sealersFor(one), 0), "fault", /RELAY_SECRET_OLD/],
    [judgeSecret([first!, second!], sealersFor(one, two), 0), "note", /relay secret rotate/],
    [judgeSecret([first!], sealersFor(one), 0o100640), "fault", /chmod 600/],
    [judgeSecret([first!], sealersFor(one), 0o100604), "fault", /chmod 600/],
  ]);
});

Deno.test("judgeClock: a clock behind the last write of the store is a fault", () => {
  expect([
    [judgeClock(NOW_MS, NOW_MS - 1), "ok", /^2030-01-01T/],
    [judgeClock(NOW_MS, NOW_MS + 15_000), "ok", /^2030/],
    [judgeClock(NOW_MS, NOW_MS + 15_001), "fault", /set the clock/],
  ]);
});

Deno.test("judgeDisk, judgeSize: report a disk that is nearly full or too small for a backup, and unused space", () => {
  expect([
    [judgeDisk(256 * MIB, { bytes: 200 * MIB, freeBytes: 72 * MIB }), "ok", /^256 MiB are free/],
    [judgeDisk(256 * MIB - 1, { bytes: MIB, freeBytes: 0 }), "fault", /make room/],
    [
      judgeDisk(300 * MIB, { bytes: 400 * MIB, freeBytes: 99 * MIB }),
      "note",
      /301 MiB in use: there is no room for a backup beside it or/,
    ],
    // Measured: a file of 62 MB writes 60 MB into a temporary file and 62 MB into its log.
    [judgeDisk(300 * MIB, { bytes: 151 * MIB, freeBytes: 0 }), "note", /no room to compact it/],
    [judgeSize({ bytes: 100 * MIB, freeBytes: 63 * MIB }), "ok", /63 MiB are unused/],
    [judgeSize({ bytes: 1000 * MIB, freeBytes: 400 * MIB }), "ok", /400 MiB are unused/],
    [judgeSize({ bytes: 100 * MIB, freeBytes: 64 * MIB }), "note", /relay compact/],
  ]);
});

Deno.test("judgeJobs: a delivery that waits for a running relay over 15 minutes is a fault", () => {
  const first = (...agesMs: number[]) =>
    agesMs.map((ms, at) => [`whk_${at}`, NOW_MS - ms, 1, "o", "live", "d"]);
  const at = { nowMs: NOW_MS, served: true, limit: 3 };
  expect([
    [judgeJobs([], at), "ok", /^no delivery is due/],
    [judgeJobs(first(-1), at), "ok", /^no delivery is due/],
    [judgeJobs(first(-1, -1, -1), at), "ok", /^no delivery to the first 3 webhooks is due/],
    [judgeJobs(first(-5, 0), at), "ok", /^deliveries to 1 of 2 .* since 2030-01-01T00:00:00/],
    [judgeJobs(first(0, 14 * MINUTE_MS), at), "ok", /^deliveries to 2 of 2 webhooks/],
    [judgeJobs(first(15 * MINUTE_MS, 0), at), "fault", /since 2029-12-31T23:45.*disable webhooks/],
    [judgeJobs(first(60 * MINUTE_MS), { ...at, served: false }), "note", /when the relay starts/],
    [judgeJobs(first(0, 1, -2), at), "ok", /^deliveries to 2 of 3 or more webhooks/],
  ]);
});

Deno.test("judgeRetention: rows that are overdue although a relay runs are a fault", () => {
  const days = { deliveries: 30, commands: 90 };
  expect([
    [judgeRetention(0, { served: true, days }), "ok", /^deliveries 30 days, commands 90 days;/],
    [judgeRetention(1, { served: true, days }), "fault", /restart the relay/],
    [judgeRetention(1, { served: false, days }), "note", /when the relay starts/],
  ]);
});

Deno.test("judgeAddress: accepts only a free address, or that of the running relay", () => {
  expect([
    [judgeAddress("a:1", "free", false), "ok", /^a:1 is free/],
    [judgeAddress("a:1", "free", true), "note", /has another address/],
    [judgeAddress("a:1", "relay", true), "ok", /a relay answers at a:1/],
    [judgeAddress("a:1", "relay", false), "fault", /another store .*RELAY_PORT/],
    [judgeAddress("a:1", "taken", true), "fault", /another program .*RELAY_PORT/],
    [judgeAddress("a:1", "not_here", false), "fault", /RELAY_HOST/],
    [judgeAddress("a:1", "forbidden", false), "fault", /above 1023/],
  ]);
});

Deno.test("judgeCertificate: notes a certificate that expires within two weeks; an expired one is a fault", () => {
  const pem = Deno.readTextFileSync(CERTIFICATE);
  const [, until] = /until (\S+)$/.exec(judgeCertificate(pem, null, 0).text)!;
  const endMs = Date.parse(until!);
  const twoWeeksMs = 14 * 24 * 60 * MINUTE_MS;
  expect([
    [judgeCertificate(pem, null, endMs - twoWeeksMs - 1), "ok", /valid until/],
    [judgeCertificate(pem, null, endMs - twoWeeksMs), "note", /renew it soon/],
    [judgeCertificate(pem, null, endMs - 1), "note", /renew it soon/],
    [judgeCertificate(pem, null, endMs), "fault", /renew it, and restart/],
    [judgeCertificate(pem, "KeyMismatch", 0), "fault", /do not match: KeyMismatch: give PEM files/],
    [
      judgeCertificate("no certificate", "none", 0),
      "fault",
      /RELAY_TLS_CERT contains no certificate/,
    ],
  ]);
});
