import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { clientOf, expectStatus } from "../clients/status_client.ts";
import { FIRST_DAY_CONFIG, liveFirstDay } from "../support/first_day.ts";
import { START_MS, startMain, startRelayProcess, withFolder } from "../support/processes.ts";
import { WireReader } from "../support/wire.ts";

/** The agents of earlier versions, made by `deno task fixture:agent`. */
const AGENTS = new URL("../fixtures/agents/", import.meta.url);

interface Command {
  readonly command_id: string;
  readonly agent_id: string;
}

/** Follows a command's live output to its end. */
async function follow(url: string, key: string, { command_id, agent_id }: Command) {
  const path = `/api/v1/agents/${agent_id}/commands/${command_id}/output`;
  const reader = await WireReader.open(Number(new URL(url).port), "sse", key, null, path);
  for (let text = "";;) {
    for (const { kind, data } of await reader.read(Infinity) ?? []) {
      if (kind === "output") text += data.data;
      if (kind !== "result") continue;
      reader.cut();
      return { text, status: data.status, exit_code: data.exit_code };
    }
  }
}

for (const { name } of Deno.readDirSync(AGENTS)) {
  Deno.test(`agent of an earlier version (${name}): everything works with this relay`, async () => {
    await withFolder(async (folder) => {
      const main = `${folder}/agent.js`;
      await Deno.writeFile(main, gunzipSync(await Deno.readFile(new URL(name, AGENTS))));
      await Deno.mkdir(`${folder}/conf`);
      await Deno.writeTextFile(`${folder}/conf/app.ini`, "color = blue\n");
      const { relay, url } = await startRelayProcess({
        RELAY_KV: `${folder}/relay.kv`,
        RELAY_CONFIG: JSON.stringify(FIRST_DAY_CONFIG),
      });
      try {
        // Policies from Git, webhooks, a denial, an approval and a backup.
        const day = await liveFirstDay(url, main, folder);
        const owner = clientOf(url, day.owner.token);
        const agent = startMain(
          ["agent", "--url", url, "--state", `${folder}/agent`, "--backup", `${folder}/conf`],
          { RELAY_TOKEN: day.keys.agent.key },
          { main },
        );
        const linked = () => agent.line(/^connected to .* as (\S+) \((\w+)\)$/, START_MS);
        try {
          eq((await linked())[2], day.agent_id);
          const ask = async (method: "GET" | "POST" | "PATCH", path: string, body?: unknown) => {
            // deno-lint-ignore no-explicit-any -- answers of every shape
            const answer = await owner<any>(method, path, body);
            ok(answer.status < 300, `${path}: ${JSON.stringify(answer.body)}`);
            return answer.body;
          };

          const renamed = await ask("PATCH", `/api/v1/agents/${day.agent_id}`, {
            name: "db-1",
            labels: { env: "prod" },
          });
          deq([renamed.name, renamed.relay_labels], ["db-1", { env: "prod" }]);
          const { stdout } = await ask("GET", "/api/exec/db-1?command=echo+hi");
          eq(stdout, "hi\n");

          const begin = async (command: string): Promise<Command> =>
            await ask("POST", "/api/v1/agents/db-1/commands", { command });
          const counted = await begin("for i in $(seq 20); do echo $i; sleep 0.02; done; exit 7");
          deq(await follow(url, day.keys.caller.key, counted), {
            text: Array.from({ length: 20 }, (_, n) => `${n + 1}\n`).join(""),
            status: "failed",
            exit_code: 7,
          });

          const endless = await begin("sleep 600");
          await ask("POST", `/api/v1/agents/db-1/commands/${endless.command_id}/cancel`, {});
          eq((await follow(url, day.keys.caller.key, endless)).status, "cancelled");
          const { commands } = await ask("GET", "/api/v1/agents/db-1/commands?status=cancelled");
          deq(commands.map(({ command_id }: Command) => command_id), [endless.command_id]);

          await Deno.writeTextFile(`${folder}/conf/app.ini`, "color = red\n");
          const drift = await ask("GET", `/api/v1/gitops/drift/${day.agent_id}`);
          deq([drift.reached, drift.drifted], [true, true]);
          const restore = await owner<{ id: string }>(
            "POST",
            `/api/v1/gitops/restore/${day.agent_id}`,
            { backup_id: day.backup_id },
          );
          expectStatus(restore, 202, "restoring");
          await agent.line(/^restored the configuration/, START_MS);
          eq(await Deno.readTextFile(`${folder}/conf/app.ini`), "color = blue\n");

          await ask("POST", `/api/v1/agents/${day.agent_id}/restart`, {});
          eq((await linked())[1], "db-1");
          eq((await ask("GET", "/api/exec/db-1?command=echo+back")).stdout, "back\n");
        } finally {
          eq((await agent.stop()).code, 0);
        }
      } finally {
        eq((await relay.stop()).code, 0);
      }
    });
  });
}
