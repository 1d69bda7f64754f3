import { type Bot, countsAs, type Group, joined, type Link, type Person } from "./model.ts";
import type { Organization } from "./organization.ts";

const TOKENS = "/api/v1/ingest-tokens";
const CODE_MS = 10 * 60_000;

export async function makeBot(own: Organization, person: Person): Promise<void> {
  const credential = await own.credential(person);
  if (credential === null) return;
  const body = { name: own.name(), purpose: "telegram" };
  const made = await own.world.call("POST", TOKENS, { as: credential.text, body });
  if (made.status !== 201) return;
  own.count("bot made");
  own.bots.push({
    id: made.body.id,
    text: made.body.token,
    knownTo: new Set([person]),
    counts: countsAs(credential),
    goneMs: null,
  });
}

const present = ({ bots }: Organization): Bot[] => bots.filter(({ goneMs }) => goneMs === null);

export async function endBot(own: Organization, person: Person): Promise<void> {
  const credential = await own.credential(person);
  const bots = present(own);
  if (credential === null || bots.length === 0) return;
  const bot = own.dice.pick(bots);
  const { status } = await own.world.call("DELETE", `${TOKENS}/${bot.id}`, {
    as: credential.text,
  });
  if (status === 204) bot.goneMs = own.world.clock.nowMs;
}

/** Takes over a bot whose maker lost the right; it gets a new secret. */
export async function adoptBot(own: Organization, person: Person): Promise<void> {
  const credential = await own.credential(person);
  const bots = present(own);
  if (credential === null || bots.length === 0) return;
  const bot = own.dice.pick(bots);
  const path = `${TOKENS}/${bot.id}/adopt`;
  const { status, body } = await own.world.call("POST", path, { as: credential.text });
  if (status !== 200) return;
  own.count("bot adopted");
  bot.text = body.token;
  bot.knownTo = new Set([person]);
  bot.counts = joined(bot.counts, countsAs(credential));
}

/** A person makes a code, and may show it to a bot at once. */
export async function makeCode(own: Organization, person: Person): Promise<void> {
  const session = await own.session(person);
  if (session === null) return;
  const path = "/api/shield/telegram-links";
  const { status, body } = await own.world.call("POST", path, { as: session.text });
  if (status !== 201) return;
  own.codes.push({
    account: session.account,
    text: body.message,
    madeMs: own.world.clock.nowMs,
    counts: session.account.counts,
    knownTo: new Set([person]),
  });
  if (own.dice.chance(0.5)) await showCode(own, person);
}

/** A person sends their newest code to a bot, whose maker reads it and may withhold it. */
export async function showCode(own: Organization, person: Person): Promise<void> {
  const code = own.codes.findLast(({ knownTo }) => knownTo.has(person));
  const bots = present(own);
  if (code === undefined || bots.length === 0) return;
  const bot = own.dice.pick(bots);
  for (const maker of bot.knownTo) code.knownTo.add(maker);
  if (own.dice.chance(0.5)) await link(own, person, bot, code);
}

/** Somebody uses a known code, their own or another's, at any bot. */
export async function useCode(own: Organization, person: Person): Promise<void> {
  const known = own.codes.filter(({ knownTo }) => knownTo.has(person));
  const others = known.filter(({ account }) => account.id !== person);
  const bots = present(own);
  if (known.length === 0 || bots.length === 0) return;
  const code = own.dice.pick(others.length > 0 ? others : known);
  await link(own, person, own.dice.pick(bots), code);
}

async function link(
  own: Organization,
  holder: Person,
  bot: Bot,
  code: Organization["codes"][number],
): Promise<void> {
  const telegram = 1_000 + own.accounts.findIndex(({ id }) => id === holder);
  const answer = await say(own, bot, telegram, code.text);
  if (!answer.startsWith("This account is linked.")) return;
  const atMs = own.world.clock.nowMs;
  if (atMs >= code.madeMs + CODE_MS) throw new Error("a code works when it is over");
  own.count(code.account.id === holder ? "account linked" : "account linked by another");
  // Any bot that existed meanwhile may have seen the code.
  const readers = own.bots.filter(({ goneMs }) => goneMs === null || goneMs >= code.madeMs);
  const counts = readers.reduce<Group>(
    (all, { counts }) => joined(all, counts),
    joined(code.counts, new Set([code.account.id])),
  );
  const before = own.links.findIndex((each) => each.bot === bot && each.telegram === telegram);
  if (before >= 0) own.links.splice(before, 1);
  own.links.push({ account: code.account, bot, telegram, holder, counts });
}

/** A bot's answer to a message with its secret. */
export async function say(
  own: Organization,
  bot: Bot,
  telegram: number,
  message: string,
): Promise<string> {
  const { body } = await own.world.call("POST", "/api/tg/webhook", {
    body: { chat_id: telegram, message },
    headers: { "x-telegram-bot-api-secret-token": bot.text },
  });
  return body.text ?? "";
}

/** The links that a person can use: of their Telegram account, or at a bot whose secret they know. */
export const linksOf = (own: Organization, person: Person): Link[] =>
  own.links.filter(({ holder, bot }) =>
    bot.goneMs === null && (holder === person || bot.knownTo.has(person))
  );
