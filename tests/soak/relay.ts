import { type Program, V8_FLAGS } from "../../core/cli/program.ts";
import { NO_LIMITS } from "../support/no_limits.ts";
import { START_MS, startMain } from "../support/processes.ts";

const INSIDE = new URL("inside.ts", import.meta.url).pathname;
/** As the task `start` runs it, but for its own collections of garbage. */
const FLAGS = [
  "-A",
  "--no-check",
  `${V8_FLAGS},--expose-gc`,
  `--preload=${INSIDE}`,
];
/** Longer than the relay's looks at the clock. */
const STEPPED_MS = 500;

/** Bytes that the relay's process held after its last collection of garbage. */
interface Memory {
  readonly heapUsed: number;
  readonly external: number;
}

/** A relay on a store on disk, which dies and comes back at the same address. */
export class SoakRelay {
  readonly #env: Record<string, string>;
  #program: Program | null = null;
  /** How often it was started. */
  lives = 0;
  url = "";
  /** How far its clock is off, in seconds. */
  shiftS = 0;

  constructor(private readonly folder: string) {
    this.#env = {
      RELAY_HOST: "127.0.0.1",
      RELAY_PORT: "0",
      RELAY_KV: this.store,
      RELAY_CONFIG: JSON.stringify({
        plans: NO_LIMITS.plans,
        limits: { live: NO_LIMITS.limits.live },
        outbound: { allow_private_targets: true },
      }),
      SOAK_FOLDER: folder,
      // As the task `start` sets it.
      MALLOC_MMAP_THRESHOLD_: "1048576",
    };
    Deno.writeTextFileSync(`${folder}/shift`, "0");
  }

  get store(): string {
    return `${this.folder}/relay.kv`;
  }

  get pid(): number {
    return this.#program!.pid;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  get lines(): readonly string[] {
    return this.#program?.lines ?? [];
  }

  /** Resolves when it is ready. */
  async start(): Promise<void> {
    this.#program = startMain(["serve"], this.#env, { permissions: FLAGS });
    const [, url] = await this.#program.line(/ is ready at (\S+)$/, START_MS);
    this.url = url!;
    this.#env.RELAY_PORT = `${this.port}`;
    this.lives++;
  }

  async kill(): Promise<void> {
    await this.#program!.kill();
  }

  /** Ends it in order. Returns its exit code. */
  async stop(): Promise<number> {
    return (await this.#program!.stop()).code;
  }

  /** Steps its clock, which keeps its error over lives. Resolves when the relay sees it. */
  async step(seconds: number): Promise<void> {
    this.shiftS += seconds;
    await Deno.writeTextFile(`${this.folder}/shift.new`, `${this.shiftS * 1000}`);
    await Deno.rename(`${this.folder}/shift.new`, `${this.folder}/shift`);
    await new Promise((resolve) => setTimeout(resolve, STEPPED_MS));
  }

  async memory(): Promise<Memory> {
    return JSON.parse(await Deno.readTextFile(`${this.folder}/memory`));
  }
}
