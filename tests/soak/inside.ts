/**
 * Preloaded into the relay of a soak: its wall clock can be stepped, as an operator or NTP steps that of a machine,
 * and it tells its live memory. The folder SOAK_FOLDER holds `shift`, in ms, and gets `memory`.
 */
const folder = Deno.env.get("SOAK_FOLDER")!;
const LOOK_MS = 200, WEIGH_MS = 30_000;
const WallDate = Date;
let shiftMs = 0;

globalThis.Date = class extends WallDate {
  constructor(...given: [] | [string | number | Date]) {
    // Dates of years, months and days have more arguments than the types of this constructor.
    super(...(given.length === 0 ? [WallDate.now() + shiftMs] : given) as [number]);
  }

  static override now(): number {
    return WallDate.now() + shiftMs;
  }
} as DateConstructor;

function look(): void {
  shiftMs = Number(Deno.readTextFileSync(`${folder}/shift`));
}

/** What is left after a collection of all garbage: between two of them a heap says little. */
function weigh(): void {
  (globalThis as unknown as { gc: () => void }).gc();
  Deno.writeTextFileSync(`${folder}/memory.new`, JSON.stringify(Deno.memoryUsage()));
  Deno.renameSync(`${folder}/memory.new`, `${folder}/memory`);
}

look();
weigh();
Deno.unrefTimer(setInterval(look, LOOK_MS));
Deno.unrefTimer(setInterval(weigh, WEIGH_MS));
