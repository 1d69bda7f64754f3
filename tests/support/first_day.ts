import { clientOf, expectStatus } from "../clients/status_client.ts";
import { type Program, startProgram } from "../../core/cli/program.ts";
import { startReceiver } from "../../core/cli/receiver.ts";
import { startGitServer } from "../policies/git/git_server.ts";
import { START_MS } from "./processes.ts";

/** What the relay of a first day needs in its environment: its hosts and receivers are on this machine. */
export const FIRST_DAY_CONFIG = { outbound: { allow_private_targets: true } };

interface Person {
  readonly id: string;
  readonly email: string;
  readonly password: string;
  /** Of a session, for its hour. */
  readonly token: string;
}

interface Key {
  readonly id: string;
  readonly key: string;
}

/** The records of a first day, with every credential that opens them. */
export interface FirstDay {
  readonly organization: string;
  /** The plan that the version of then gave the host. */
  readonly plan: string;
  readonly owner: Person;
  readonly approver: Person;
  readonly keys: {
    readonly caller: Key;
    readonly agent: Key;
    readonly test: Key;
    readonly revoked: Key;
    /** `key` is the new value; the old one is good until its grace period ends. */
    readonly rotating: Key & { readonly old_key: string };
  };
  readonly agent_id: string;
  /** The seed of the agent's Ed25519 key, base64url. */
  readonly agent_seed: string;
  readonly commands: Readonly<Record<"succeeded" | "denied" | "waiting", string>>;
  /** The approval that nobody has decided. */
  readonly approval_id: string;
  readonly webhook: { readonly id: string; readonly secret: string };
  /** A delivery that succeeded. */
  readonly delivery_id: string;
  readonly repository_id: string;
  readonly policy_id: string;
  readonly backup_id: string;
  readonly integration_id: string;
  readonly ingest_token: { readonly id: string; readonly token: string };
  readonly alert_id: string;
  readonly report_id: string;
  readonly role: string;
  readonly invitation_id: string;
  readonly pairing_code: string;
  /** The ids that each list showed at the end of the day. */
  readonly lists: Readonly<Record<string, readonly string[]>>;
}

const OWNER = { email: "owner@example.com", password: "correct horse 7" };
const APPROVER = { email: "approver@example.com", password: "battery staple 8" };
const WEBHOOK_SECRET = "a secret of the first day";
const ARRIVE_MS = 10_000;
const POLICY =
  "rules:\n  - id: no-tool\n    match: { commands: [forbidden-tool] }\n    verdict: deny\n";

/**
 * Lives the first day of an organization on a fresh relay at `url`: people, keys, an agent with commands,
 * a webhook, policies of a Git repository, a backup and the rest. The agent runs from `main`, so that a
 * relay of an older commit gets an agent of the same commit.
 */
export async function liveFirstDay(url: string, main: string, folder: string): Promise<FirstDay> {
  await using git = await startGitServer();
  const receiver = startReceiver(WEBHOOK_SECRET);
  let agent: Program | null = null;
  try {
    const signup = { ...OWNER, organization: "First Day" };
    type SignUp = { token: string; user: { id: string }; organization: { id: string } };
    const founded = expectStatus(
      await clientOf(url)<SignUp>("POST", "/api/v1/signup", signup),
      201,
      "signing up",
    );
    const send = clientOf(url, founded.token);
    const make = async <T>(path: string, body: unknown = {}, status = 201): Promise<T> =>
      expectStatus(await send<T>("POST", path, body), status, path);
    const show = async <T>(path: string): Promise<T> =>
      expectStatus(await send<T>("GET", path), 200, path);

    const { organization: { plan } } = await show<{ organization: { plan: string } }>(
      "/api/account/info",
    );
    await make("/api/v1/roles", { name: "deployer", permissions: ["agents:read"] });
    const invited = await make<{ invite_code: string }>("/api/v1/invitations", {
      email: APPROVER.email,
      roles: ["operator"],
    });
    const joined = expectStatus(
      await clientOf(url)<SignUp>("POST", "/api/v1/signup", {
        ...APPROVER,
        invite_code: invited.invite_code,
      }),
      201,
      "joining",
    );
    await make("/api/v1/roles/deployer/assign", { user_id: joined.user.id }, 200);
    const invitation = await make<{ id: string }>("/api/v1/invitations", { roles: ["viewer"] });

    const newKey = async (name: string, scopes: readonly string[], more = {}): Promise<Key> => {
      const body = { name, scopes, expires_days: 3650, ...more };
      const { id, key } = await make<Key>("/api/v1/api-keys", body);
      return { id, key };
    };
    const keys = {
      agent: await newKey("agent", ["agents:admin"]),
      caller: await newKey("caller", ["agents:read", "agents:write", "audit:read"]),
      test: await newKey("test", ["agents:read"], { type: "test" }),
      revoked: await newKey("revoked", ["agents:read"]),
      rotating: await newKey("rotating", ["agents:read"]),
    };
    await make(`/api/v1/api-keys/${keys.revoked.id}/revoke`, {}, 200);
    const rotated = await make<{ old_key: string; new_key: string }>(
      `/api/v1/api-keys/${keys.rotating.id}/rotate`,
      { grace_period_hours: 168 },
      200,
    );

    const webhook = await make<{ id: string }>("/api/v1/webhooks", {
      name: "first",
      url: receiver.url,
      secret: WEBHOOK_SECRET,
      events: ["command_executed", "command_denied"],
      headers: { "x-room": "7" },
    });

    const repository = await git.create("rules");
    await repository.push("main", { "rules/a.yaml": POLICY });
    const registered = await make<{ id: string }>("/api/v1/gitops/repos", {
      name: "rules",
      provider: "generic",
      url: repository.url,
      policy_path: "rules",
      token: "s3cret",
      webhook_secret: "a secret of the repository",
      sync_seconds: null,
    });
    await make("/api/v1/gitops/apply", {
      repo_url: repository.url,
      branch: "main",
      policy_path: "rules",
    }, 200);
    const { policies: [policy] } = await show<{ policies: { id: string }[] }>(
      "/api/v1/gitops/policies",
    );

    const state = `${folder}/agent`;
    const started = agent = startProgram(
      ["agent", "--url", url, "--name", "web-1", "--state", state, "--backup", `${folder}/conf`],
      { main, env: { RELAY_TOKEN: keys.agent.key } },
    );
    const [, agent_id] = await started.line(/^connected to .* \((\w+)\)$/, START_MS);
    const caller = clientOf(url, keys.caller.key);
    const run = async (command: string, status: number) => {
      const path = `/api/exec/${agent_id}?${new URLSearchParams({ command })}`;
      // deno-lint-ignore no-explicit-any -- an answer or a refusal
      return expectStatus(await caller<any>("GET", path), status, command);
    };
    const succeeded = (await run("uname -a", 200)).command_id;
    const denied = (await run("forbidden-tool --now", 403)).error.details.command_id;
    const waiting = await run("systemctl stop nginx", 202);
    for (const type of ["command_executed", "command_denied"]) {
      const { fault } = await receiver.delivery(type, ARRIVE_MS);
      if (fault !== null) throw new Error(`the webhook ${type}: ${fault}`);
    }
    // The receiver has it before the relay has noted that.
    let delivered: { id: string } | undefined;
    while (delivered === undefined) {
      const path = `/api/v1/webhooks/${webhook.id}/deliveries?status=succeeded`;
      [delivered] = (await show<{ deliveries: { id: string }[] }>(path)).deliveries;
    }
    const backup = await make<{ id: string }>(`/api/v1/gitops/backup/${agent_id}`, {}, 202);
    await ended(async () => {
      const { backups } = await show<{ backups: Stated[] }>(`/api/v1/gitops/backups/${agent_id}`);
      return backups[0]!;
    });
    const integration = await make<{ id: string }>("/api/integrations", {
      type: "slack",
      config: { webhook_url: `${git.url}/services/T0/B0/x` },
    });
    const ingestToken = await make<{ id: string; token: string }>("/api/v1/ingest-tokens", {
      name: "alerts",
      purpose: "generic",
    });
    await make("/api/shield/ingest", {
      source: "scanner",
      alerts: [{ name: "disk full", severity: "warning" }],
    }, 200);
    const { alerts: [alert] } = await show<{ alerts: { alert_id: string }[] }>(
      "/api/shield/alerts?source=scanner",
    );
    await make("/api/audit/event", { event_type: "note", details: { day: 1 } });
    const report = await make<{ id: string }>("/api/v1/compliance/report/generate", {
      type: "commands",
      period: "7d",
    }, 202);
    await ended(async () => {
      const { reports } = await show<{ reports: Stated[] }>("/api/v1/compliance/reports");
      return reports[0]!;
    });
    const { pairing_code } = await make<{ pairing_code: string }>("/api/devices/pairing-codes");

    const paths = [
      "/api/agents",
      "/api/v1/api-keys",
      "/api/v1/users",
      "/api/v1/invitations",
      "/api/v1/roles",
      "/api/v1/webhooks",
      `/api/v1/webhooks/${webhook.id}/deliveries`,
      "/api/v1/gitops/repos",
      "/api/v1/gitops/policies",
      `/api/v1/gitops/versions?policy_id=${policy!.id}`,
      `/api/v1/gitops/backups/${agent_id}`,
      "/api/integrations",
      "/api/v1/ingest-tokens",
      "/api/shield/alerts",
      "/api/shield/approvals",
      "/api/v1/compliance/reports",
      "/api/admin/plans",
      "/api/admin/accounts",
    ];
    const lists: Record<string, string[]> = {};
    for (const path of paths) lists[path] = idsOf(await show(path));

    return {
      organization: founded.organization.id,
      plan,
      owner: { id: founded.user.id, ...OWNER, token: founded.token },
      approver: { id: joined.user.id, ...APPROVER, token: joined.token },
      keys: {
        ...keys,
        rotating: { id: keys.rotating.id, key: rotated.new_key, old_key: rotated.old_key },
      },
      agent_id: agent_id!,
      agent_seed: JSON.parse(await Deno.readTextFile(`${state}/agent-key.json`)).d,
      commands: { succeeded, denied, waiting: waiting.command_id },
      approval_id: waiting.approval_id,
      webhook: { id: webhook.id, secret: WEBHOOK_SECRET },
      delivery_id: delivered.id,
      repository_id: registered.id,
      policy_id: policy!.id,
      backup_id: backup.id,
      integration_id: integration.id,
      ingest_token: { id: ingestToken.id, token: ingestToken.token },
      alert_id: alert!.alert_id,
      report_id: report.id,
      role: "deployer",
      invitation_id: invitation.id,
      pairing_code,
      lists,
    };
  } finally {
    await agent?.stop();
    await receiver.stop();
  }
}

/** What names each entry of a list, whatever the list is called. */
export function idsOf(answer: Readonly<Record<string, unknown>>): string[] {
  const entries = Object.values(answer).find(Array.isArray) as Record<string, string>[];
  return entries.map((entry) =>
    entry.id ?? entry.pid ?? entry.alert_id ?? entry.version ?? entry.name!
  );
}

interface Stated {
  readonly status: string;
}

/** Asks until what goes on has ended. @throws {Error} when it failed */
async function ended(ask: () => Promise<Stated>): Promise<void> {
  for (;;) {
    const { status } = await ask();
    if (status === "failed") throw new Error("the work of a first day failed");
    if (["complete", "completed"].includes(status)) return;
  }
}
