import { ok } from "node:assert/strict";
import { exec } from "../../support/linked_agent.ts";
import { linksOf, say } from "./bots.ts";
import {
  countsAs,
  type Group,
  joined,
  mostApart,
  type Person,
  type Request,
  shareSomebody,
} from "./model.ts";
import type { Organization } from "./organization.ts";

const RISKY = "systemctl stop nginx";
/** Requests that people consider; older ones have mostly ended. */
const LOOKED_AT = 3;
/** The start of the refusal to an asker. */
const OF_ASKER =
  /^(?:You cannot approve your own request|The requester may hold|Anyone may have made)/;

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
    return hold(own, request, { by: person, counts: group }, answer, "a chat");
  }
  const credential = await own.credential(person);
  if (credential === null) return;
  const path = `/api/shield/approve/${request.pid}`;
  const { status, body } = await own.world.call("POST", path, { as: credential.text, body: {} });
  const answer = status !== 200
    ? body.error.message
    : body.status === "approved"
    ? "approved"
    : "taken";
  const own_ = credential.account.id === person ? "" : " of another";
  hold(own, request, { by: person, counts: countsAs(credential) }, answer, credential.kind + own_);
}

/** Checks the guarantee at one decision. */
function hold(
  own: Organization,
  request: Request,
  vote: { readonly by: Person; readonly counts: Group },
  answer: string,
  way: string,
): void {
  const shared = shareSomebody(vote.counts, request.counts);
  if (OF_ASKER.test(answer)) {
    ok(shared && !request.selfAllowed, `an approval by ${way} was refused for nothing: ${answer}`);
    own.count(`refused by ${way}`);
  }
  if (answer !== "approved" && answer !== "taken") return;
  ok(request.selfAllowed || !shared, `an approval by ${way} counts, and may be by who asked`);
  request.votes.push(vote);
  own.count(request.selfAllowed ? "taken where self-approval is allowed" : `taken by ${way}`);
  if (answer === "taken") return;
  request.approved = true;
  const { votes, asker, required, selfAllowed } = request;
  const people = new Set(votes.map(({ by }) => by));
  if (!selfAllowed) people.delete(asker);
  ok(people.size >= required, `${people.size} people approved, and it takes ${required}`);
  ok(
    mostApart(votes.map(({ counts }) => counts)) >= required,
    "one person may have approved twice",
  );
  if (required > 1) own.count("approved by several");
}
