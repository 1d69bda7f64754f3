/** A short secret that the caller's browser keeps and shows again. */
export interface Cookie {
  readonly name: string;
  /** Null makes the browser forget it. */
  readonly value: string | null;
  readonly maxAgeSeconds: number;
}

/** What a rule answers when a cookie goes with its result. */
export class WithCookie<T> {
  constructor(readonly value: T, readonly cookie: Cookie) {}
}
