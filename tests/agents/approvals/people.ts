import { resetPassword } from "../../../core/access/sign_in/reset.ts";
import { codeOf, enrol, FACTOR } from "../../access/account_fixtures.ts";
import type { Account, Credential, Person } from "./model.ts";
import { CUSTOM_ROLE, type Organization } from "./organization.ts";

const CODE_MS = 30_000;
const PEOPLE_MAX = 7;
const RIGHTS = ["agents:write", "approvals:write", "system:read", "system:write"];
const ROLES = ["owner", "admin", "operator", CUSTOM_ROLE];

/** Somebody assigns or revokes a role. */
export async function changeRoles(own: Organization, person: Person): Promise<void> {
  const credential = await own.credential(person);
  if (credential === null) return;
  const account = own.dice.pick(own.accounts);
  const role = own.dice.pick(ROLES);
  const how = own.dice.chance(0.6) ? "assign" : "revoke";
  const { status } = await own.world.call("POST", `/api/v1/roles/${role}/${how}`, {
    as: credential.text,
    body: { user_id: account.id },
  });
  if (status !== 200) return;
  own.count(`role: ${how}`);
  if (how === "assign") account.roles.add(role);
  else account.roles.delete(role);
}

/** Somebody changes the permissions of the custom role. */
export async function editRole(own: Organization, person: Person): Promise<void> {
  const credential = await own.credential(person);
  if (credential === null) return;
  const permissions = RIGHTS.filter(() => own.dice.chance(0.6));
  if (permissions.length === 0) return;
  const { status } = await own.world.call("PUT", `/api/v1/roles/${CUSTOM_ROLE}`, {
    as: credential.text,
    body: { permissions },
  });
  if (status !== 200) return;
  own.count("role edited");
  own.customRights = permissions;
}

/** Somebody deactivates or reactivates a person. */
export async function switchPerson(own: Organization, person: Person): Promise<void> {
  const credential = await own.credential(person);
  if (credential === null) return;
  const off = own.accounts.filter(({ active }) => !active);
  const account = own.dice.pick(off.length > 0 && own.dice.chance(0.7) ? off : own.accounts);
  await switchAccount(own, credential, account);
}

export async function switchAccount(
  own: Organization,
  credential: Credential,
  account: Account,
): Promise<void> {
  const how = account.active ? "deactivate" : "activate";
  const path = `/api/v1/users/${account.id}/${how}`;
  const { status } = await own.world.call("POST", path, { as: credential.text });
  if (status !== 200) return;
  own.count(`person: ${how}`);
  account.active = how === "activate";
  if (!account.active) own.endSessions(account);
}

/** Somebody invites, and a new person accepts. */
export async function invite(own: Organization, person: Person): Promise<void> {
  const credential = await own.credential(person);
  if (credential === null || own.accounts.length >= PEOPLE_MAX) return;
  const roles = [own.dice.pick(ROLES)];
  const { world } = own;
  const call = { as: credential.text, body: { roles } };
  const invited = await world.call("POST", "/api/v1/invitations", call);
  if (invited.status !== 201) return;
  const { invite_code } = invited.body;
  const email = `newcomer${world.app.ports.entropy.id("n")}@example.com`;
  const password = "password of a newcomer";
  const joined = await world.call("POST", "/api/v1/signup", {
    body: { email, password, invite_code },
  });
  if (joined.status !== 201) return;
  own.count("invitation accepted");
  own.add({ id: joined.body.user.id, email }, password, roles, joined.body.token);
}

/** The operator of the store resets a password, which the operator and the owner then know. */
export async function reset(own: Organization, person: Person): Promise<void> {
  const account = own.dice.pick(own.accounts);
  const { store, ports } = own.world.app;
  const without = own.dice.chance(0.5);
  account.password = (await resetPassword(store, ports, account.email, without)).password;
  account.passwordOf = new Set([account.id, person]);
  account.counts = "everybody";
  if (without) account.factor = null;
  own.endSessions(account);
  own.count("password reset");
}

/** A person changes their own password, which only they know then. */
export async function changePassword(own: Organization, person: Person): Promise<void> {
  const account = own.accountOf(person);
  const session = await own.signIn(account, person);
  if (session === null) return;
  const new_password = own.world.app.ports.entropy.id("password");
  const { status } = await own.world.call("POST", "/api/account/password", {
    as: session.text,
    body: { current_password: account.password, new_password },
  });
  if (status !== 200) return;
  if (account.counts === "everybody") own.count("reset password changed by its owner");
  account.password = new_password;
  account.passwordOf = new Set([person]);
  account.counts = account.passwordOf;
  own.endSessions(account, session);
}

/** The holder of a sign-in sets up a second factor, or removes it. */
export async function changeFactor(own: Organization, person: Person): Promise<void> {
  const session = await own.session(person);
  if (session === null) return;
  const { world } = own;
  const { account } = session;
  world.clock.nowMs += CODE_MS;
  if (account.factor === null) {
    const { secret } = await enrol(world, { token: session.text }, account.password);
    account.factor = { secret, knownTo: person };
    own.count("second factor set up");
  } else {
    if (account.factor.knownTo !== person) return;
    const body = { code: codeOf(world, account.factor.secret) };
    const path = `${FACTOR}/disable`;
    const { status } = await world.call("POST", path, { as: session.text, body });
    if (status !== 200) return;
    account.factor = null;
    own.count("second factor turned off");
  }
  own.endSessions(account, session);
}
