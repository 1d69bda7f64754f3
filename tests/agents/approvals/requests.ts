import { ok } from "node:assert/strict";
import { exec } from "../../support/linked_agent.ts";
import { linksOf, say } from "./bots.ts";
import {
  countsAs,
  joined,
  mostApart,
  type Person,
  type Request,
  type Session,
  shareSomebody,
  type Vote,
} from "./model.ts";
import type { Organization } from "./organization.ts";

const RISKY = "systemctl stop nginx";
/** The age of a sign-in that confirms. */
const CONFIRMS_MS = 15 * 60_000;
/** Requests that people consider; older ones have mostly ended. */
const LOOKED_AT = 3;
/** The start of the refusal to an asker. */
const OF_ASKER =
  /^(?:You cannot approve your own request|This is your own request|Your password was reset|The requester may hold|Anyone may have made)/;

export async function ask(own: Organization, person: Person): Promise<void> {
  const credential = await own.credential(person);
  if (credential === null) return;
  const { agent, world } = own;
  const owner = { token: credential.text, userId: "", org: "", email: "" };
  const { status, body } = await exec(world, { owner, agent }, RISKY);
  if (status !== 202) return;
  own.count("asked");
  own.requests.push({
    pid: body.approval_id,
    commandId: body.command_id,
    atMs: own.world.clock.nowMs,
    asker: person,
    counts: countsAs(credential),
    selfAllowed: own.selfApproval,
    required: own.required,
    votes: [],
    approved: false,
  });
}

/** Whether a person could act as another one. */
const canPass = (own: Organization, person: Person): boolean =>
  linksOf(own, person).length > 0 || own.values().some(({ knownTo }) => knownTo.has(person)) ||
  own.accounts.some(({ id, passwordOf }) => id !== person && passwordOf.has(person));

/** Somebody approves a pending request; the asker tries it whenever they could act as another person. */
export async function approve(own: Organization, someone: Person): Promise<void> {
  const open = own.requests.slice(-LOOKED_AT).filter(({ approved }) => !approved);
  if (open.length === 0) return;
  const request = own.dice.pick(open);
  const person = own.dice.chance(canPass(own, request.asker) ? 0.7 : 0.1) ? request.asker : someone;
  const links = linksOf(own, person);
  if (links.length > 0 && own.dice.chance(0.6)) {
    const { account, bot, telegram, counts } = own.dice.pick(links);
    const text = await say(own, bot, telegram, `/approve ${request.pid}`);
    const answer = text.includes("is approved")
      ? "approved"
      : text.startsWith("Recorded.")
      ? "taken"
      : text;
    const group = joined(joined(counts, bot.counts), new Set([account.id]));
    return hold(own, request, { by: person, counts: group, alone: false }, answer, "a chat");
  }
  const credential = own.dice.chance(0.3)
    ? await signInAnew(own, person)
    : await own.credential(person);
  if (credential === null) return;
  const path = `/api/shield/approve/${request.pid}`;
  const confirmed = own.dice.chance(0.5);
  const { status, body } = await own.world.call("POST", path, {
    as: credential.text,
    body: confirmed ? { confirm_self_approval: true } : {},
  });
  const answer = status !== 200
    ? body.error.message
    : body.status === "approved"
    ? "approved"
    : "taken";
  const own_ = credential.account.id === person ? "" : " of another";
  const counts = countsAs(credential);
  const alone = own.alone && confirmed && credential.kind === "session" &&
    credential.sinceMs > request.atMs &&
    own.world.clock.nowMs - credential.sinceMs < CONFIRMS_MS && counts !== "everybody" &&
    !request.selfAllowed &&
    shareSomebody(counts, request.counts);
  hold(own, request, { by: person, counts, alone }, answer, credential.kind + own_);
}

/** Signs a person in again, as somebody does who was told to. */
async function signInAnew(own: Organization, person: Person): Promise<Session | null> {
  const account = own.enterable(person);
  own.sessions = own.sessions.filter((each) => each.account !== account || each.holder !== person);
  own.world.clock.nowMs += own.dice.pick([0, 1, 1]);
  return await own.signIn(account, person);
}

/** Checks the guarantee at one decision. */
function hold(
  own: Organization,
  request: Request,
  vote: Vote,
  answer: string,
  way: string,
): void {
  const shared = shareSomebody(vote.counts, request.counts);
  if (OF_ASKER.test(answer)) {
    ok(
      shared && !request.selfAllowed && !vote.alone,
      `an approval by ${way} was refused for nothing: ${answer}`,
    );
    own.count(`refused by ${way}`);
  }
  if (answer !== "approved" && answer !== "taken") return;
  // A founder's confirmation counts only until somebody joins.
  if (!own.alone) request.votes = request.votes.filter(({ alone }) => !alone);
  ok(
    request.selfAllowed || vote.alone || !shared,
    `an approval by ${way} counts, and may be by who asked`,
  );
  request.votes.push(vote);
  own.count(
    request.selfAllowed
      ? "taken where self-approval is allowed"
      : vote.alone
      ? "taken from the only member"
      : `taken by ${way}`,
  );
  if (answer === "taken") return;
  request.approved = true;
  const { votes, asker, required, selfAllowed } = request;
  const people = new Set(votes.map(({ by }) => by));
  if (!selfAllowed && !vote.alone) people.delete(asker);
  ok(people.size >= required, `${people.size} people approved, and it takes ${required}`);
  ok(
    mostApart(votes.map(({ counts }) => counts)) >= required,
    "one person may have approved twice",
  );
  if (required > 1) own.count("approved by several");
}
