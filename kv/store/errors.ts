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

/** Removes users and passwords from the URLs in a text, such as an error of the engine. */
export const withoutUsers = (text: string): string =>
  text.replace(/(?<=https?:\/\/)[^\s/?#"]*@/gi, "");
