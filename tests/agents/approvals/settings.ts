import { deepStrictEqual as deq, ok } from "node:assert/strict";
import type { Account, Credential, Person } from "./model.ts";
import { CUSTOM_ROLE, type Organization } from "./organization.ts";
import { switchAccount } from "./people.ts";

const PATH = "/api/shield/settings";
const MAKERS = ["owner", "admin"];

/** Whether a person may change the settings now. */
const mayChange = ({ customRights }: Organization, { active, roles }: Account): boolean =>
  active && (MAKERS.some((role) => roles.has(role)) ||
    roles.has(CUSTOM_ROLE) && customRights.includes("system:write"));

/** Somebody asks to allow self-approval, or ends it. */
export async function turnSelfApproval(own: Organization, person: Person): Promise<void> {
  const credential = await own.credential(person);
  if (credential === null) return;
  const self_approval = own.selfApproval ? own.dice.chance(0.2) : own.dice.chance(0.8);
  const body = { approvals: { self_approval } };
  const answer = await own.world.call("PATCH", PATH, { as: credential.text, body });
  if (answer.status !== 200) return;
  const { approvals, pending_self_approval } = answer.body;
  if (approvals.self_approval && !own.selfApproval) {
    mustBeTheirs(credential, person);
    const others = own.accounts.filter(({ id }) => id !== person);
    ok(!others.some((other) => mayChange(own, other)), "nobody was asked who could confirm");
    own.count("self-approval: turned on alone");
  }
  own.selfApproval = approvals.self_approval;
  if (pending_self_approval !== null && pending_self_approval.id !== own.pending?.id) {
    mustBeTheirs(credential, person);
    own.pending = { id: pending_self_approval.id, by: person };
    own.count("self-approval: asked for");
  }
}

/** Somebody removes everybody who could confirm, as far as they may, and then asks. */
export async function removeOthers(own: Organization, person: Person): Promise<void> {
  const session = await own.session(person);
  if (session === null) return;
  for (const account of own.accounts) {
    if (account.id !== person && mayChange(own, account)) {
      await switchAccount(own, session, account);
    }
  }
  await turnSelfApproval(own, person);
}

/** Somebody confirms or refuses a pending change. */
export async function decideSelfApproval(own: Organization, person: Person): Promise<void> {
  const credential = await own.credential(person);
  if (credential === null || own.pending === null) return;
  const how = own.dice.chance(0.8) ? "confirm" : "refuse";
  const { id, by } = own.pending;
  const answer = await own.world.call("POST", `/api/shield/self-approval/${how}`, {
    as: credential.text,
    body: { id },
  });
  if (answer.status !== 200) return;
  own.pending = null;
  own.selfApproval = answer.body.approvals.self_approval;
  if (!own.selfApproval) return;
  mustBeTheirs(credential, person);
  ok(how === "confirm" && by !== person, "whoever asked for self-approval has confirmed it");
  own.count("self-approval: confirmed");
}

/** Only a sign-in that one person holds identifies that person. */
function mustBeTheirs({ kind, account: { id, counts } }: Credential, person: Person): void {
  deq([kind, id, counts], ["session", person, new Set([person])]);
}

/** Somebody changes the required number of approvals. */
export async function changeRequired(own: Organization, person: Person): Promise<void> {
  const credential = await own.credential(person);
  if (credential === null) return;
  const body = { approvals: { required: own.dice.pick([1, 1, 2]) } };
  const answer = await own.world.call("PATCH", PATH, { as: credential.text, body });
  if (answer.status === 200) own.required = answer.body.approvals.required;
}
