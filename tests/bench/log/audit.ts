import { figure } from "../figures.ts";
import process from "node:process";
import { verifyExport } from "../../../core/events/trail/verify_export.ts";
import { keyText, readKey } from "../../../core/protocol/checkpoints/note.ts";
import { proveEvent } from "../../../core/events/trail/checkpoints.ts";
import { exportAudit } from "../../../core/events/trail/export.ts";
import type { Reading } from "../../../core/work/work.ts";
import type { Context } from "../../../core/context/context.ts";
import { eventJson } from "../../../core/events/events.ts";
import { readSettings } from "../../../core/context/settings.ts";
import { startRelay } from "../../../core/start.ts";
import { systemClock, systemPorts } from "../../../core/ports/system.ts";
import { openStore } from "../../../kv/maintenance/open.ts";
import { auditKeyOf, insertAuditKeys } from "../../../core/events/trail/audit_keys.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import { sized } from "../size.ts";
import { type FilledRow, fillLog } from "./fill.ts";

/** CPU time in ms: machines are shared, and the wall clock tells who else was there. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

const ROWS = sized(1_000_000, 5_000);
const PROOFS = sized(300, 20);

/** What proving costs: sequencing a row, a proof, an export and its check, with a million rows in the store. */
export async function benchAudit(): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "relay-bench-audit-" });
  const settings = readSettings({ RELAY_KV: `${folder}/relay.kv` }, () => "", false);
  const ports = systemPorts(() => true);
  const opened = await openStore(settings.kv, systemClock);
  const running = await startRelay(opened, { ...settings, secret: "a secret of the bench" }, ports);
  const { app } = running;
  const tenant = { org: "org_bench", space: "live" } as const;
  await app.store.transact((tx) => insertAuditKeys(app, tx, tenant.org));
  const ids: string[] = [];
  await fillLog(app.store, tenant, ROWS, rowOf(app, tenant, ids));
  const [started, startedCpu] = [performance.now(), cpuMs()];
  for (let size = 0; size < ROWS;) ({ size } = await app.audit.reach(tenant));
  const each = (performance.now() - started) * 1000 / ROWS;
  const cpu = (cpuMs() - startedCpu) * 1000 / ROWS;
  figure("sequencing", each, "µs a row");
  console.log(`sequencing: ${each.toFixed(2)} µs a row, ${cpu.toFixed(2)} µs of CPU`);
  await app.audit.idle();

  const times: number[] = [];
  await proveEvent(app, app.audit, tenant, ids[0]!);
  for (let n = 0; n < PROOFS; n++) {
    const from = performance.now();
    await proveEvent(app, app.audit, tenant, ids[n * 37 % ids.length]!);
    times.push(performance.now() - from);
  }
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor(share * times.length)]!.toFixed(2);
  figure(`proof among ${ROWS} rows`, times[times.length >> 1]!, "ms");
  console.log(`inclusion proof at ${ROWS} rows: median ${at(0.5)} ms, 99 % ${at(0.99)} ms`);

  const path = `${folder}/export.ndjson`;
  const file = await Deno.open(path, { create: true, write: true });
  const writer = file.writable.getWriter();
  const actor = { id: "bench", tenant } as Reading["actor"];
  const request = { id: "req" } as Reading["request"];
  const before = Deno.memoryUsage().rss, from = performance.now();
  let first = 0, peak = before;
  const work = { ...app, app, actor, request, db: app.store };
  const { body } = await exportAudit(work, app.audit, {}, "application/x-ndjson");
  for await (const text of body) {
    first ||= performance.now() - from;
    await writer.write(new TextEncoder().encode(text));
    peak = Math.max(peak, Deno.memoryUsage().rss);
  }
  await writer.close();
  const seconds = (performance.now() - from) / 1000;
  const mib = ((peak - before) / 2 ** 20).toFixed(0);
  figure("export, first byte", first, "ms");
  console.log(
    `export: first byte ${first.toFixed(1)} ms, ${
      Math.round(ROWS / seconds)
    } rows/s, ${mib} MiB more`,
  );

  const key = readKey(keyText(await auditKeyOf(app, tenant)))!;
  const [checked, checkedCpu] = [performance.now(), cpuMs()];
  const { finding, rows } = await verifyExport((await Deno.open(path)).readable, { key });
  if (finding !== null) throw new Error(`the export is not whole: ${JSON.stringify(finding)}`);
  const rate = Math.round(rows / (performance.now() - checked) * 1000);
  const verifying = (cpuMs() - checkedCpu) * 1000 / rows;
  figure("verify", rate, "rows/s");
  console.log(`verify: ${rate} rows/s of ${rows}, ${verifying.toFixed(2)} µs of CPU a row`);
  await running.stop();
  await Deno.remove(folder, { recursive: true });
}

/** A row as a request by a key leaves it. */
const rowOf = (app: Context, tenant: Tenant, ids: string[]) => (): FilledRow => {
  const type = "api_key_used", id = "key_0m3xabcdefghij";
  const work = { ...app, actor: { id }, request: { id: app.ports.entropy.uuid() } };
  const resource = { type: "api_key", id } as const;
  const details = { endpoint: "GET /api/v1/agents/{id}", status: 200 };
  const json = eventJson(work, tenant, { type, resource, details });
  ids.push(JSON.parse(json).event_id);
  return { type, json };
};
