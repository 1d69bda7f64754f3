/** A short secret that the caller's browser stores and sends back. */
export interface Cookie {
  /** Without the prefix that the transport adds over HTTPS. */
  readonly name: string;
  /** Null deletes the cookie. */
  readonly value: string | null;
  readonly maxAgeSeconds: number;
}

/** A result together with a cookie to set. */
export class WithCookie<T> {
  constructor(readonly value: T, readonly cookie: Cookie) {}
}

/** A result together with the session cookie to set; the transport names the cookie. */
export class WithSession<T> {
  constructor(
    readonly value: T,
    /** Null signs the browser out. */
    readonly session: Omit<Cookie, "name">,
  ) {}
}

/** An answer that sends the browser elsewhere. */
export class Redirect {
  constructor(
    readonly location: string,
    readonly cookies: readonly Cookie[],
    /** The session cookie to set, if any. */
    readonly session: Omit<Cookie, "name"> | null = null,
  ) {}
}
