import { ok, strictEqual as eq } from "node:assert/strict";
import { PYTHON } from "../../events/verify_py.ts";
import { requestFault } from "../requests.ts";
import type { Walk } from "./world.ts";

const DOCS = new URL("../../../docs/", import.meta.url).pathname;
/** The first words of the lines of a signed text. */
const heads = (text: string) =>
  text.split("\n").map((line) => /^[a-z]+(?= )|^—|^relay/.exec(line)?.[0]).filter(Boolean).join(
    " ",
  );

/** The walks over the pages about proving what happened. */
export const PROVE: Readonly<Record<string, (walk: Walk) => Promise<void>>> = {
  async "audit.md"(walk) {
    const { world } = walk;
    const { machine, owner } = world;
    const { body } = await owner.api<{ note: string; public_key: string }>(
      "GET",
      "/api/audit/checkpoint",
    );
    eq(heads(body.note), heads(walk.text("<number of rows>")));
    await Deno.writeTextFile(`${machine.folder}/witnessed.txt`, body.note);
    await walk.run("/api/audit/export", { KEY: world.key });
    await walk.run("relay audit verify", {}, { "<public_key>": body.public_key });
  },

  async "compliance.md"(walk) {
    const { world } = walk;
    const { machine, owner } = world;
    for (const part of ["/api/v1/compliance/report/generate", "/api/v1/compliance/schedule"]) {
      for (const line of walk.text(part).trim().split("\n")) {
        const [, method, address, body] = /^(\w+) +(\S+)(?: +(\{.*?\}))?/.exec(line)!;
        const given = body && JSON.parse(body);
        const shown = { method: method!, address: address!, ...(body && { body }) };
        eq(requestFault(shown), null, line);
        const path = address!.replace(/\?.*/, "");
        const { status } = await owner.api(method as "PUT", path, given);
        ok([200, 202].includes(status) || path.endsWith("/report"), `${line}: ${status}`);
      }
    }
    const now = new Date();
    const quarter = `${now.getUTCFullYear()}-Q${Math.floor(now.getUTCMonth() / 3) + 1}`;
    const current = { "2026-Q3": quarter };
    const [take] = walk.text("relay evidence 2026-Q3", current).split("\n");
    await machine.sh(take!, owner.env);
    const archive = `evidence-${quarter}.tar`;
    const manifest = await machine.sh(`tar xOf ${archive} manifest.txt`);
    ok(heads(manifest.stdout).startsWith(heads(walk.text("relay-evidence/1"))), manifest.stdout);
    const { body: { public_key } } = await owner.api<{ public_key: string }>(
      "GET",
      "/api/audit/checkpoint",
    );
    await machine.sh(`cp ${DOCS}verify.* ${DOCS}verify_log.ts .`);
    const programs = walk.text("relay evidence verify", current).trim().split("\n")
      .filter((line) => PYTHON || !line.startsWith("python3"));
    for (const line of programs) await machine.sh(line, { PUBLIC_KEY: public_key });

    await machine.sh(`tar xOf ${archive} reports/soc2.json >report.json`);
    await Deno.writeTextFile(`${machine.folder}/check.py`, walk.text("import hashlib, json"));
    if (PYTHON) await machine.sh("python3 check.py");
  },
};
