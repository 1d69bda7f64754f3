/** Raised when every attempt of a transaction lost its race. */
export class ContentionError extends Error {
  override readonly name = "ContentionError";
}

/** Raised when a unique key belongs to another live record. */
export class DuplicateError extends Error {
  override readonly name = "DuplicateError";
  constructor(readonly collection: string, readonly index: string) {
    super(`${collection}.${index} is taken`);
  }
}

/** Raised when the store does not answer, is closing or has too much to do. Nothing is known of the change. */
export class StoreUnavailableError extends Error {
  override readonly name = "StoreUnavailableError";
}

/** A text, such as the engine's errors, without the users and passwords of the addresses in it. */
export const withoutUsers = (text: string): string =>
  text.replace(/(?<=https?:\/\/)[^\s/?#"]*@/gi, "");
