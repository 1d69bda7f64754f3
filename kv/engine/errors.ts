/** Thrown when a transaction failed its checks in every attempt. */
export class ContentionError extends Error {
  override readonly name = "ContentionError";
}

/** Thrown when a unique key belongs to another live record. */
export class DuplicateError extends Error {
  override readonly name = "DuplicateError";
  constructor(readonly collection: string, readonly index: string) {
    super(`${collection}.${index} is taken`);
  }
}

/** Thrown when the store fails, is closing or is overloaded. The change may or may not be committed. */
export class StoreUnavailableError extends Error {
  override readonly name = "StoreUnavailableError";
}

/** True for the text or the stack of a StoreUnavailableError. */
export const isUnavailability = (text: unknown): text is string =>
  typeof text === "string" && text.startsWith("StoreUnavailableError: ");

/** What each call says while the database server is away, which the store's health tells once. */
export const AWAY = "the database server does not answer";

/** Removes users and passwords from the URLs in a text, such as an error of the engine. */
export const withoutUsers = (text: string): string =>
  text.replace(/(?<=https?:\/\/)[^\s/?#"]*@/gi, "");

/**
 * Errors that the engine raises before it acts: over a limit, not serialisable, not a key, not a counter.
 * Disk and network failures are TypeErrors too; after one of those the outcome of a commit is unknown.
 */
const REFUSALS = /\(max |could not be cloned|key cannot be empty|^expected |non-U64|Delay /;

/** True for an error that the engine raised before it acted. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof Error && (error.name === "DataCloneError" || REFUSALS.test(error.message));
