import { strictEqual as eq } from "node:assert/strict";
import { type ConfiguredAgent, withConfigured } from "../support/configured_agent.ts";
import { type Account, type Answer, World } from "../support/world.ts";
import { AGENT_RIGHTS } from "../support/linked_agent.ts";

interface Setting {
  readonly world: World;
  readonly owner: Account;
  readonly agent: ConfiguredAgent;
  readonly etc: string;
  post(what: "backup" | "restore", body?: unknown, as?: string): Promise<Answer>;
  /** Resolves with the job when it has ended. */
  // deno-lint-ignore no-explicit-any -- backups and restores are looked into
  endOf(list: "backups" | "restores", id: string): Promise<any>;
  // deno-lint-ignore no-explicit-any -- backups are looked into
  backUp(): Promise<any>;
  // deno-lint-ignore no-explicit-any -- restores are looked into
  restore(backup_id: string, dry_run?: boolean): Promise<any>;
}

/** A world with an agent whose folder `etc` is backed up. */
export async function withBackups(
  use: (setting: Setting) => Promise<void>,
  options: Parameters<typeof withConfigured>[3] = {},
): Promise<void> {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, AGENT_RIGHTS);
  await withConfigured(world, key.value, async (agent) => {
    const { id } = agent.link;
    const as = owner.token;
    const setting: Setting = {
      world,
      owner,
      agent,
      etc: `${agent.folder}/etc`,
      post: (what, body = {}, by = as) =>
        world.call("POST", `/api/v1/gitops/${what}/${id}`, { as: by, body }),
      async endOf(list, job) {
        for (;;) {
          const { body } = await world.call("GET", `/api/v1/gitops/${list}/${id}`, { as });
          const found = body[list].find((one: { id: string }) => one.id === job);
          if (found.status !== "running") return found;
        }
      },
      async backUp() {
        const started = await setting.post("backup");
        eq(started.status, 202, started.text);
        return await setting.endOf("backups", started.body.id);
      },
      async restore(backup_id, dry_run = false) {
        const started = await setting.post("restore", { backup_id, dry_run });
        eq(started.status, 202, started.text);
        return await setting.endOf("restores", started.body.id);
      },
    };
    Deno.writeTextFileSync(`${agent.folder}/etc/a.conf`, "one");
    Deno.mkdirSync(`${agent.folder}/etc/conf.d`);
    Deno.writeTextFileSync(`${agent.folder}/etc/conf.d/b.conf`, "two");
    await use(setting);
  }, options);
}
