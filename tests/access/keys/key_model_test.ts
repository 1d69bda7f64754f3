import { deepStrictEqual as deq, ok } from "node:assert/strict";
import { Fault } from "../../../core/fault/fault.ts";
import { shared } from "../../support/kv.ts";
import { type Random, random } from "../../support/random.ts";
import { World } from "../../support/world.ts";
import { HOUR_MS, KEYS, managerKey, rotate } from "./key_fixtures.ts";

const DAY_MS = 24 * HOUR_MS;

/** The rules of a key's values, in a few lines. */
class Model {
  id = "";
  /** Each value and from when on it is dead; the newest last. */
  readonly values: { readonly text: string; endMs: number }[] = [];
  ended: "revoked" | "deleted" | null = null;
  constructor(text: string, readonly expiresMs: number) {
    this.values.push({ text, endMs: expiresMs });
  }
  rotate(text: string, nowMs: number, graceMs: number): void {
    this.values.at(-1)!.endMs = Math.min(nowMs + graceMs, this.expiresMs);
    this.values.push({ text, endMs: this.expiresMs });
  }
  valid(nowMs: number): string[] {
    if (this.ended !== null) return [];
    return this.values.filter(({ endMs }) => nowMs < endMs).map(({ text }) => text);
  }
  status(nowMs: number): string {
    const valid = this.valid(nowMs).length;
    return this.ended ?? ["expired", "active", "rotating"][valid]!;
  }
}

/** Whether a value is accepted. */
async function works(world: World, value: string): Promise<boolean> {
  try {
    await world.app.authenticator.authenticate(value, "live");
    return true;
  } catch (error) {
    if (error instanceof Fault && error.code === "INVALID_API_KEY") return false;
    throw error;
  }
}

/** One thing that may happen to a key, asked for through the interface; it must answer as the model says. */
async function act(world: World, dice: Random, as: string, models: Model[]): Promise<string> {
  const nowMs = world.clock.nowMs;
  const what = dice.pick(["create", "rotate", "rotate", "rotate", "patch", "revoke", "delete"]);
  const model = models.length === 0 ? null : dice.pick(models);
  if (what === "create" || model === null) {
    const days = dice.pick([1, 2, 90]);
    const type = dice.pick(["live", "test"]);
    const body = { name: "k", scopes: ["agents:read"], expires_days: days, type };
    const { status, body: made } = await world.call("POST", KEYS, { as, body });
    deq(status, 201);
    models.push(Object.assign(new Model(made.key, nowMs + days * DAY_MS), { id: made.id }));
    return "create";
  }
  const was = model.status(nowMs);
  const path = `${KEYS}/${model.id}`;
  const expected = (allowed: string[], status: number) =>
    was === "deleted" ? 404 : allowed.includes(was) ? status : 409;
  if (what === "rotate") {
    const hours = dice.pick([0, 1, 24, 168]);
    const { status, body } = await rotate(world, model.id, as, hours);
    deq(status, expected(["active"], 200));
    if (status === 200) model.rotate(body.new_key, nowMs, hours * HOUR_MS);
  } else if (what === "patch") {
    const scopes = dice.shuffle(["agents:read", "policy:read"]).slice(0, 1 + dice.below(2));
    const { status } = await world.call("PATCH", path, { as, body: { scopes } });
    deq(status, expected(["active", "rotating"], 200));
  } else if (what === "revoke") {
    const { status } = await world.call("POST", `${path}/revoke`, { as });
    deq(status, expected(["active", "rotating", "expired"], 200));
    if (status === 200) model.ended = "revoked";
  } else {
    const { status } = await world.call("DELETE", path, { as });
    deq(status, was === "deleted" ? 404 : 204);
    model.ended = "deleted";
  }
  return what;
}

/** Lets time pass: a little, or to the last instant before something ends, or to that end. */
function pass(world: World, dice: Random, models: Model[]): void {
  const ends = models.flatMap(({ values }) => values.map(({ endMs }) => endMs))
    .filter((endMs) => endMs > world.clock.nowMs + 1)
    .sort((a, b) => a - b);
  const next = ends[0];
  const roll = dice.below(4);
  if (next === undefined || roll === 0) world.clock.nowMs += dice.below(3 * HOUR_MS);
  else world.clock.nowMs = next - (roll === 1 ? 1 : 0);
}

for (const sole of [true, false]) {
  for (let seed = 1; seed <= (sole ? 3 : 2); seed++) {
    const where = sole ? "from memory" : "from the store";
    Deno.test(`api_keys, ${where}, seed ${seed}: exactly the values work that a small model says`, async () => {
      const dice = random(seed);
      const engine = await Deno.openKv(":memory:");
      const open = (seed: number, clock?: World["clock"]) =>
        World.open({ kv: shared(engine), sole, seed, ...(clock && { clock }) });
      let world = await open(seed * 1_000);
      const as = await managerKey(world, await world.signUp());
      const models: Model[] = [];
      const done: Record<string, number> = {};
      for (let step = 0; step < 300; step++) {
        const roll = dice.unit();
        let what = "pass";
        if (roll < 0.04) {
          what = "restart";
          await world[Symbol.asyncDispose]();
          world = await open(seed * 1_000 + step + 1, world.clock);
        } else if (roll < 0.25) pass(world, dice, models);
        else what = await act(world, dice, as, models);
        done[what] = (done[what] ?? 0) + 1;
        const where = `seed ${seed}, step ${step}, ${what}`;
        await assertValid(world, models, where);
        if (models.length > 0) await assertShown(world, as, dice.pick(models), where);
      }
      ok(Object.keys(done).length === 7, `seed ${seed} left something out: ${Object.keys(done)}`);
      await world[Symbol.asyncDispose]();
      engine.close();
    });
  }
}

/** Of all values that ever were, exactly those work that the model says. */
async function assertValid(world: World, models: Model[], where: string): Promise<void> {
  for (const model of models) {
    const found: string[] = [];
    for (const { text } of model.values) if (await works(world, text)) found.push(text);
    deq(found, model.valid(world.clock.nowMs), where);
  }
}

/** A key's record has the status that the model says. */
async function assertShown(world: World, as: string, model: Model, where: string): Promise<void> {
  const { status, body } = await world.call("GET", `${KEYS}/${model.id}`, { as });
  deq(status === 404 ? "deleted" : body.status, model.status(world.clock.nowMs), where);
}
