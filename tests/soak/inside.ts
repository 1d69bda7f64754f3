/**
 * Preloaded into the relay of a soak: its wall clock can be stepped, as an operator or NTP steps that of a machine,
 * and it tells its memory. The folder SOAK_HAND holds `shift`, in ms, and gets `memory`.
 */
const hand = Deno.env.get("SOAK_HAND")!;
const LOOK_MS = 200;
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
  shiftMs = Number(Deno.readTextFileSync(`${hand}/shift`));
  Deno.writeTextFileSync(`${hand}/memory.new`, JSON.stringify(Deno.memoryUsage()));
  Deno.renameSync(`${hand}/memory.new`, `${hand}/memory`);
}

look();
Deno.unrefTimer(setInterval(look, LOOK_MS));
