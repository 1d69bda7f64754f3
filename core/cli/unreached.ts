/** Explains a failed connection and, where known, what to do. `fetch` gives the reason only as the cause. */
export function whyUnreached(error: unknown): string {
  const { message, cause } = error as Error;
  return withRemedy(cause instanceof Error ? cause.message : message);
}

/** Adds to a failure of TLS what to do about it. */
export function withRemedy(why: string): string {
  if (/self-signed|issuer|unable to verify/i.test(why)) {
    return `${why}: name the PEM file of your own authority in DENO_CERT`;
  }
  if (/CaUsedAsEndEntity/.test(why)) {
    return `${why}: the relay's certificate must not be that of an authority (CA:FALSE)`;
  }
  return /wrong version number|InvalidContentType/.test(why)
    ? `${why}: give an http:// address if the server does not use TLS`
    : why;
}
