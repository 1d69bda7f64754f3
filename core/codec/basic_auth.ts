/** The value of an `Authorization` header for HTTP Basic (RFC 7617, UTF-8). */
export const basicAuth = (user: string, password: string): string =>
  `Basic ${new TextEncoder().encode(`${user}:${password}`).toBase64()}`;
