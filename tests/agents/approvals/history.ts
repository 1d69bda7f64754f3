import { deepStrictEqual as deq } from "node:assert/strict";
import { runsOf } from "../../support/linked_agent.ts";
import { random } from "../../support/random.ts";
import type { World } from "../../support/world.ts";
import { adoptBot, endBot, makeBot, makeCode, showCode, useCode } from "./bots.ts";
import { changeKey, endKey, makeKey, rotateKey } from "./keys.ts";
import type { Person } from "./model.ts";
import { Organization, type Tally } from "./organization.ts";
import {
  changeFactor,
  changePassword,
  changeRoles,
  editRole,
  invite,
  reset,
  switchPerson,
} from "./people.ts";
import { approve, ask } from "./requests.ts";
import { changeRequired, decideSelfApproval, removeOthers, turnSelfApproval } from "./settings.ts";

const STEPS = 60;
const MINUTE_MS = 60_000;

type Act = (own: Organization, person: Person) => Promise<void>;

/** The steps of a history, with their weights. */
const ACTS: readonly (readonly [Act, number])[] = [
  [makeKey, 6],
  [rotateKey, 8],
  [changeKey, 4],
  [endKey, 1],
  [makeBot, 6],
  [endBot, 4],
  [adoptBot, 4],
  [makeCode, 6],
  [showCode, 4],
  [useCode, 6],
  [changeRoles, 4],
  [editRole, 1],
  [switchPerson, 5],
  [invite, 1],
  [reset, 1],
  [changePassword, 2],
  [changeFactor, 1],
  [turnSelfApproval, 2],
  [decideSelfApproval, 3],
  [removeOthers, 1],
  [changeRequired, 1],
  [ask, 12],
  [approve, 24],
  [wait, 3],
];
const WEIGHTED = ACTS.flatMap(([act, weight]) => Array.from({ length: weight }, () => act));

/** Minutes pass, so that codes, grace periods and sign-ins end. */
async function wait({ world, dice }: Organization): Promise<void> {
  world.clock.nowMs += dice.pick([1, 3, 8, 20]) * MINUTE_MS;
}

/** Runs one random history of an organization; throws when the guarantee is broken. */
export async function play(world: World, seed: number, tally: Tally): Promise<void> {
  const own = await Organization.found(world, random(seed), tally);
  for (let step = 0; step < STEPS; step++) await own.dice.pick(WEIGHTED)(own, own.person());
  await world.settle();
  const approved = new Set(
    own.requests.filter((each) => each.approved).map((each) => each.commandId),
  );
  deq(runsOf(own.agent).map(({ command_id }) => command_id).filter((id) => !approved.has(id)), []);
}
