import { type Config, type ConfigSource, parseConfig } from "../../context/context.ts";
import { Fault } from "../../fault/fault.ts";

/** One version of the configuration. */
export interface Configuration {
  readonly config: Config;
  /** The parsed source, before defaults are added. */
  readonly given: unknown;
  readonly loadedAtMs: number;
}

/**
 * The configuration in force. Each instance has its own: a reload affects the instance that serves it, because
 * RELAY_CONFIG is read from that instance's disk or environment.
 */
export class ActiveConfiguration {
  #current: Configuration;
  #reloading: Promise<unknown> = Promise.resolve();

  constructor(readonly source: ConfigSource, config: Config, loadedAtMs: number) {
    this.#current = { config, given: parseOrEmpty(source), loadedAtMs };
  }

  get current(): Configuration {
    return this.#current;
  }

  /** Puts a configuration in force from the next request on. */
  replace(next: Configuration): void {
    this.#current = next;
  }

  /** Runs reloads one after the other, so that the last one to read the source is in force at the end. */
  inTurn<T>(reload: () => Promise<T>): Promise<T> {
    const mine = this.#reloading.catch(() => {}).then(reload);
    this.#reloading = mine;
    return mine;
  }
}

/** The source was readable when the settings were read. If it is not now, all values show as defaults. */
function parseOrEmpty(source: ConfigSource): unknown {
  try {
    return JSON.parse(source.read());
  } catch {
    return {};
  }
}

/**
 * Reads the configuration from its source.
 * @throws {Fault} VALIDATION_FAILED with the path of each fault
 */
export function readConfiguration(source: ConfigSource, loadedAtMs: number): Configuration {
  let text: string;
  try {
    text = source.read();
  } catch (cause) {
    const message = `The configuration in RELAY_CONFIG cannot be read: ${(cause as Error).message}`;
    const issues = [{ path: "", message }];
    throw new Fault("VALIDATION_FAILED", message, { issues }, { cause });
  }
  return { config: parseConfig(text), given: JSON.parse(text), loadedAtMs };
}
