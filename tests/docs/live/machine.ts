import { ok, strictEqual as eq } from "node:assert/strict";
import { after, LATE } from "../../../core/cli/program.ts";
import { START_MS } from "../../support/processes.ts";

const ROOT = new URL("../../../", import.meta.url).pathname;

/** What a command of a page wrote, and its exit code. */
export interface Output {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command that goes on. */
export interface Running {
  readonly pid: number;
  /** Waits for the next text of either output that matches. @throws {Error} when the command ends first, or it takes too long */
  until(pattern: RegExp): Promise<RegExpExecArray>;
  /** Sends SIGTERM and waits for the end. */
  stop(): Promise<void>;
}

/** A folder in which commands of a page run as its reader types them: `relay` is this repository's program. */
export class Machine implements AsyncDisposable {
  readonly #running = new Set<{ stop(): Promise<void> }>();
  private constructor(readonly folder: string, readonly env: Record<string, string>) {}

  /** `env` is added to what every command finds in its environment. */
  static async make(env: Readonly<Record<string, string>> = {}): Promise<Machine> {
    const folder = await Deno.makeTempDir({ prefix: "relay-docs-" });
    const machine = new Machine(folder, {
      HOME: folder,
      PATH: `${folder}/bin:${Deno.env.get("PATH")}`,
      DENO_DIR: Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`,
      LC_ALL: "C.UTF-8",
      ...env,
    });
    await Deno.mkdir(`${folder}/bin`);
    await machine.program("relay", `exec "${Deno.execPath()}" run -A "${ROOT}main.ts" "$@"`);
    await machine.program("deno", `exec "${Deno.execPath()}" "$@"`);
    return machine;
  }

  /** Puts a shell script on the path. */
  program(name: string, script: string): Promise<void> {
    return Deno.writeTextFile(`${this.folder}/bin/${name}`, `#!/bin/bash\n${script}\n`, {
      mode: 0o755,
    });
  }

  #command(text: string, env: Readonly<Record<string, string>>, detached = false) {
    return new Deno.Command("bash", {
      detached,
      args: ["-c", `set -euo pipefail\n${text}`],
      cwd: this.folder,
      clearEnv: true,
      env: { ...this.env, ...env },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    });
  }

  /** Runs shell commands to their end, which is a success. */
  async sh(text: string, env: Readonly<Record<string, string>> = {}): Promise<Output> {
    const output = await this.end(text, env);
    eq(output.code, 0, `${text}\n${output.stdout}${output.stderr}`);
    // curl succeeds with the answer to a request that was refused.
    ok(!/^\{"error":/m.test(output.stdout), `${text}\n${output.stdout}`);
    return output;
  }

  /** Runs shell commands to their end, whatever it is. */
  async end(text: string, env: Readonly<Record<string, string>> = {}): Promise<Output> {
    const { code, stdout, stderr } = await this.#command(text, env).output();
    const decoder = new TextDecoder();
    return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
  }

  /** Starts a command that goes on until it is stopped, or until the machine is gone. */
  start(text: string, env: Readonly<Record<string, string>> = {}): Running {
    const child = this.#command(text, env, true).spawn();
    let output = "", over = false;
    let changed = Promise.withResolvers<void>();
    const announce = () => {
      changed.resolve();
      changed = Promise.withResolvers();
    };
    const read = [child.stdout, child.stderr].map(async (pipe) => {
      for await (const piece of pipe.pipeThrough(new TextDecoderStream())) {
        output += piece;
        announce();
      }
    });
    const ended = Promise.all([child.status, ...read]).then(() => {
      over = true;
      announce();
    });
    const running = {
      pid: child.pid,
      async until(pattern: RegExp) {
        const deadline = after(START_MS);
        try {
          for (;;) {
            const next = changed.promise;
            const found = pattern.exec(output);
            if (found !== null) {
              output = output.slice(found.index + found[0].length);
              return found;
            }
            if (over || await Promise.race([next, deadline.late]) === LATE) {
              throw new Error(`${text} did not write ${pattern}: ${output}`);
            }
          }
        } finally {
          deadline.cancel();
        }
      },
      stop: async () => {
        this.#running.delete(running);
        // The shell's group: each command that it started.
        try {
          Deno.kill(-child.pid, "SIGTERM");
        } catch (error) {
          // It has already ended.
          if (!(error instanceof Deno.errors.NotFound)) throw error;
        }
        await ended;
      },
    };
    this.#running.add(running);
    return running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const running of [...this.#running].reverse()) await running.stop();
    await Deno.remove(this.folder, { recursive: true });
  }
}
