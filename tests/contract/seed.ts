import { type Client, clientOf, expectStatus } from "../clients/status_client.ts";

/** How many of each kind: some end while others are still asked for. */
const EACH = 8;
const PASSWORD = "correct horse 7";
/** What the shield lets nobody run without an approval. */
const RISKY = "systemctl stop nginx";
const CHAT = 5_123_456_789;

/** The ids of real records, by the parameter or the resource that takes them. */
export type Ids = Readonly<Record<string, readonly string[]>>;

/** A relay with some of everything. */
export interface Seeded {
  /** The owner's sign-in, who runs the installation. */
  readonly token: string;
  /** For the agent. */
  readonly agentKey: string;
  /** Makes what there is to make once an agent is linked. */
  readonly fill: (agentId: string) => Promise<{ ids: Ids; kept: readonly string[] }>;
}

interface Made {
  readonly id: string;
}

interface SignedIn {
  readonly token: string;
  readonly user: Made;
  readonly organization: Made;
}

/** Signs the owner up. What the owner stands on is `kept`: a run that ends it would test nothing more. */
export async function seed(url: string): Promise<Seeded> {
  const anonymous = clientOf(url);
  const owner = await signUp(anonymous, "owner", { organization: "Contract" });
  const client = clientOf(url, owner.token);
  const agentKey = await make<Made & { key: string }>(client, "/api/v1/api-keys", {
    name: "agent",
    scopes: ["agents:admin"],
  });
  const own = await idsOf(client, "/api/account/sessions", "sessions");
  const fill = async (agentId: string) => ({
    ids: {
      ...await peopleIds(url, client, agentId),
      ...await keptIds(client),
      ...await webhookIds(client),
      ...await agentIds(client, agentId),
      ...await madeIds(client),
      ...await telegramIds(client, anonymous),
      event_id: (await idsOf(client, "/api/audit", "events", "event_id")).slice(0, EACH),
    },
    kept: [...own, agentKey.id, agentId, owner.user.id, owner.organization.id],
  });
  return { token: owner.token, agentKey: agentKey.key, fill };
}

const signUp = (anonymous: Client, name: string, more: object): Promise<SignedIn> =>
  make(anonymous, "/api/v1/signup", {
    email: `${name}@example.com`,
    password: PASSWORD,
    ...more,
  });

/** Other people and organizations, and what they wait for. */
async function peopleIds(url: string, client: Client, agentId: string): Promise<Ids> {
  const anonymous = clientOf(url);
  const users: string[] = [], approvals: string[] = [];
  const invite = () =>
    make<Made & { invite_code: string }>(client, "/api/v1/invitations", { roles: ["operator"] });
  for (let n = 1; n <= EACH; n++) {
    const { invite_code } = await invite();
    const { token, user } = await signUp(anonymous, `person${n}`, { invite_code });
    users.push(user.id);
    const path = `/api/v1/agents/${agentId}/commands`;
    const asked = { command: RISKY };
    const { approval_id } = await make<{ approval_id: string }>(
      clientOf(url, token),
      path,
      asked,
      202,
    );
    approvals.push(approval_id);
  }
  const { organization } = await signUp(anonymous, "other", { organization: "Other" });
  return {
    users,
    approvals,
    invitations: await times(invite),
    organizations: [organization.id],
    sessions: await times(async () => {
      const login = { email: "owner@example.com", password: PASSWORD };
      await make(anonymous, "/api/v1/login", login, 200);
      return { id: (await idsOf(client, "/api/account/sessions", "sessions"))[0]! };
    }),
  };
}

/** What the organization has been told. */
const keptIds = async (client: Client): Promise<Ids> => {
  const alerts = [{ name: "one" }, { name: "two" }, { name: "three", severity: "critical" }];
  await make(client, "/api/shield/ingest", { source: "contract", alerts }, 200);
  return {
    alerts: await idsOf(client, "/api/shield/alerts", "alerts", "alert_id"),
    notifications: await idsOf(client, "/api/account/notifications", "notifications"),
  };
};

async function webhookIds(client: Client): Promise<Ids> {
  const path = "/api/v1/webhooks";
  const webhooks = await times((n) =>
    make(client, path, {
      name: `hook ${n}`,
      url: "https://hooks.example.com/relay",
      secret: "a shared secret 1",
      events: ["command_executed"],
    })
  );
  const of = `${path}/${webhooks[0]}`;
  const deliveries = await times(() => make(client, `${of}/test`, {}, 202));
  const since = new Date(Date.now() - 60_000).toISOString();
  const range = { since, status: ["failed", "exhausted", "held"] };
  const answer = await client<{ recovery: Made | null }>("POST", `${of}/recover`, range);
  const { recovery } = answer.body;
  return { webhooks, deliveries, recoveries: recovery === null ? [] : [recovery.id] };
}

async function agentIds(client: Client, agentId: string): Promise<Ids> {
  const commands = await times(async () => {
    const path = `/api/v1/agents/${agentId}/commands`;
    const { command_id } = await make<{ command_id: string }>(
      client,
      path,
      { command: "uptime" },
      202,
    );
    return { id: command_id };
  });
  // An agent makes one backup at a time.
  const backup = await make(client, `/api/v1/gitops/backup/${agentId}`, {}, 202);
  return { agents: [agentId], commands, backups: [backup.id] };
}

/** What is made by one request, and deleted by one. */
async function madeIds(client: Client): Promise<Ids> {
  const many = (path: string, body: (n: number) => object) =>
    times((n) => make(client, path, body(n)));
  const code = () => make<{ pairing_code: string }>(client, "/api/devices/pairing-codes", {});
  const config = { url: "https://hooks.example.com/relay", secret: "a-shared-secret-1" };
  return {
    keys: await many("/api/v1/api-keys", (n) => ({ name: `key ${n}`, scopes: ["agents:read"] })),
    repositories: await many("/api/v1/gitops/repos", (n) => ({
      name: `repository ${n}`,
      provider: "github",
      url: `https://git.example.com/a/${n}`,
    })),
    roles: await times(async (n) => {
      const permissions = ["agents:read"];
      const role = await make<{ name: string }>(client, "/api/v1/roles", {
        name: `role${n}`,
        permissions,
      });
      return { id: role.name };
    }),
    ingest_tokens: await many("/api/v1/ingest-tokens", (n) => ({
      name: `token ${n}`,
      purpose: "alertmanager",
    })),
    plans: await many("/api/admin/plans", (n) => ({ name: `plan ${n}`, price: 1, features: [] })),
    integrations: await many("/api/integrations", (n) => ({
      type: "webhook",
      name: `integration ${n}`,
      config,
    })),
    codes: await times(async () => ({ id: (await code()).pairing_code })),
    devices: await times(async (n) => {
      const { pairing_code } = await code();
      const body = { device_name: `device ${n}`, pairing_code };
      const { device_id } = await make<{ device_id: string }>(client, "/api/devices/pair", body);
      return { id: device_id };
    }),
  };
}

async function telegramIds(client: Client, anonymous: Client): Promise<Ids> {
  const bot = await make<{ token: string }>(client, "/api/v1/ingest-tokens", {
    name: "bot",
    purpose: "telegram",
  });
  await times(async (n) => {
    const { message } = await make<{ message: string }>(
      client,
      "/api/shield/telegram-links",
      {},
    );
    const chat = { id: CHAT + n, type: "private" };
    const from = { id: CHAT + n, is_bot: false, first_name: "Bob" };
    const update = { update_id: n, message: { message_id: n, from, chat, date: 1, text: message } };
    const secret = { "x-telegram-bot-api-secret-token": bot.token };
    await anonymous("POST", "/api/tg/webhook", update, secret);
    return { id: "" };
  });
  return { telegram_links: await idsOf(client, "/api/shield/telegram-links", "telegram_links") };
}

async function times(makeOne: (n: number) => Promise<Made>): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 1; n <= EACH; n++) ids.push((await makeOne(n)).id);
  return ids;
}

async function make<T = Made>(
  client: Client,
  path: string,
  body: object,
  status = 201,
): Promise<T> {
  return expectStatus(await client<T>("POST", path, body), status, `POST ${path}`);
}

async function idsOf(client: Client, path: string, list: string, key = "id"): Promise<string[]> {
  const answer = await client<Record<string, Record<string, string>[]>>("GET", path);
  return expectStatus(answer, 200, `GET ${path}`)[list]!.map((entry) => entry[key]!);
}
