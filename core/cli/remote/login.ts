import { type Client, createClient, type SignedIn } from "../../client/client.ts";
import { UsageError } from "../arguments.ts";
import { confirmed } from "./ask.ts";
import type { Call, Run } from "./command.ts";
import { consoleOf } from "./open.ts";
import { changeProfiles, type Profile, profilesPath } from "./profiles.ts";
import { loginUrl } from "./target.ts";

/** The options of a new account. */
const NEW = ["sign-up", "invite-code", "claim-code"];

/** `relay login` */
export const login: Run = async (call) => {
  const { text, has, host } = call;
  const given = ["confirm", "email", "token-stdin"].filter((name) => has(name) || text(name));
  if (given.length > 1) throw new UsageError(`Give only one of --${given.join(" and --")}.`);
  if (has("password-stdin") !== (text("email") !== undefined)) {
    throw new UsageError("Give --email and --password-stdin together.");
  }
  if (text("email") === undefined && NEW.some((name) => text(name) !== undefined)) {
    throw new UsageError(`Give --email with --${NEW.join(" or --")}.`);
  }
  const code = text("confirm");
  if (code !== undefined) return await confirm(call, code);
  const url = loginUrl(text("url"), host);
  const anonymous = createClient({ url, fetch: host.fetch });
  const profile = has("token-stdin")
    ? await byToken(call, url)
    : profileOf(url, await (has("password-stdin") ? byPassword : byCode)(call, anonymous, url));
  await keep(call, profile);
};

/** The session that a person approves elsewhere. */
async function byCode({ host, out }: Call, relay: Client, url: string): Promise<SignedIn> {
  const started = await relay.call("device_logins.start", {
    body: { device_name: host.deviceName() },
  });
  const page = new URL(started.verification_uri, url).href;
  await out.note(
    `Open ${page} and enter the code ${started.user_code}, or, on a machine where you are signed in:\n` +
      `  relay login --url ${url} --confirm ${started.user_code}\n` +
      `Waiting until ${started.expires_at} …`,
  );
  for (let seconds = started.interval;;) {
    await host.sleep(seconds * 1000);
    const { device_code } = started;
    const { session, interval } = await relay.call("device_logins.poll", { body: { device_code } });
    if (session !== null) return session;
    seconds = interval;
  }
}

/** The session of a password that another program gives, of an account that may be new. */
async function byPassword({ text, host }: Call, relay: Client): Promise<SignedIn> {
  const who = { email: text("email")!, password: host.readLine() };
  const [organization, invite_code, claim_code] = NEW.map(text);
  if (organization === undefined && invite_code === undefined) {
    return await relay.call("account.login", { body: { ...who, code: text("code") } });
  }
  const body = { ...who, organization, invite_code, claim_code };
  return await relay.call("account.signup", { body });
}

/** An API key that another program gives. */
async function byToken({ host }: Call, url: string): Promise<Profile> {
  const token = host.readLine().trim();
  const info = await createClient({ url, token, fetch: host.fetch }).call("account.info");
  return { url, token, email: info.user.email, organization: info.organization.name };
}

/** Approves the sign-in of another terminal. */
async function confirm(call: Call, user_code: string): Promise<number> {
  const { relay, target, out } = call;
  const client = relay();
  const { user, organization } = await client.call("account.info");
  const asked = await client.call("device_logins.read", { body: { user_code } });
  await out.note(
    `${asked.device_name} at ${asked.address} asked at ${asked.created_at}.`,
  );
  const who = `${user.email} of ${organization.name}`;
  const question = `Let it do everything that ${who} may do at ${target().url}?`;
  if (!confirmed(call, question)) {
    await client.call("device_logins.decide", { body: { user_code, approve: false } });
    await out.note("Denied.");
    return 1;
  }
  const decided = await client.call("device_logins.decide", { body: { user_code, approve: true } });
  await out.item(decided, decided.status, [["approved", decided.device_name]]);
  return 0;
}

const profileOf = (url: string, session: SignedIn): Profile => ({
  url,
  token: session.token,
  expires_at: session.expires_at,
  refresh_token: session.refresh_token,
  email: session.user.email,
  organization: session.organization.name,
});

/** Stores a sign-in, and makes it the one that commands use. */
async function keep({ text, host, out }: Call, profile: Profile): Promise<void> {
  const path = profilesPath(host.env);
  const name = await changeProfiles(path, ({ profiles }) => {
    const name = text("profile") ?? nameFor(profile.url, profiles);
    const after = { current: name, profiles: { ...profiles, [name]: profile } };
    return Promise.resolve([after, name] as const);
  });
  const { url, email, organization } = profile;
  await out.item({ profile: name, url, email, organization, path }, name, [
    ["signed in as", `${email} of ${organization}`],
    ["relay", url],
    ["console", consoleOf(url)],
    ["profile", `${name} in ${path}`],
  ]);
}

/** The profile of the same relay, else `default`, else the relay's host. */
function nameFor(url: string, profiles: Readonly<Record<string, Profile>>): string {
  const same = Object.entries(profiles).find(([, profile]) => profile.url === url);
  return same?.[0] ?? ("default" in profiles ? new URL(url).host : "default");
}
