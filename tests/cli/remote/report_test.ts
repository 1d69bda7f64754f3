import { deepStrictEqual as deq, match } from "node:assert/strict";
import { auditKeyOf } from "../../../core/events/trail/audit_keys.ts";
import { rotateKeys } from "../../../core/host/secrets/rotate_keys.ts";
import { keyText, signedTextOf, signNote } from "../../../core/protocol/protocol.ts";
import { make } from "../../host/compliance_fixtures.ts";
import { World } from "../../support/world.ts";
import { withTerminal } from "./terminal.ts";

Deno.test("relay report verify: accepts a report that was signed after the log's key had been replaced", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { app } = world;
  const tenant = { org: owner.org, space: "live" } as const;
  const made = await make(world, owner, "soc2", "24h");
  const rotation = { kind: "audit", organization: null, leaveBehind: false } as const;
  await rotateKeys(app.store, app, rotation, () => {});
  const key = await auditKeyOf(app, tenant);
  // As when the key was replaced between the checkpoint and the end of the count.
  const note = signNote(signedTextOf(made.note)!, key, key.privateKey);
  const crossed = { ...made, note, public_key: keyText(key) };
  const named = (public_key: string) => {
    const { report } = crossed;
    return { ...crossed, report: { ...report, log: { ...report.log, public_key } } };
  };
  const other = await auditKeyOf(app, { ...tenant, space: "test" });
  await withTerminal(world, async ({ run, profiles }) => {
    const file = profiles.replace(/\.config.*/, "report.json");
    const verify = async (report: unknown, ...more: string[]) => {
      await Deno.writeTextFile(file, JSON.stringify(report));
      return await run(["report", "verify", file, ...more]);
    };
    for (const more of [[], ["--key", keyText(key)]]) {
      const { code, out } = await verify(crossed, ...more);
      deq([code, out.startsWith("valid: ")], [0, true], out);
    }
    for (const changed of [named(keyText(key)), named(keyText(other)), named("")]) {
      const { code, out } = await verify(changed);
      deq(code, 1);
      match(out, /^INVALID: the checkpoint of the log is not by the key of this log/);
    }
    // A key that a forger names beside its checkpoint is not what was signed.
    const forged = signNote(signedTextOf(made.report.log.checkpoint)!, key, key.privateKey);
    const { report } = named(keyText(key));
    const swapped = {
      ...crossed,
      report: { ...report, log: { ...report.log, checkpoint: forged } },
    };
    const { code, out } = await verify(swapped);
    deq(code, 1);
    match(out, /^INVALID: its content is not what was signed/);
  });
});
