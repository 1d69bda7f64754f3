/** True for a store that several processes may share. */
export const isRemote = (kv: string): boolean => /^https?:\/\//.test(kv);

/** True for an embedded store's file. */
export const isFile = (kv: string | null): kv is string =>
  kv !== null && kv !== ":memory:" && !isRemote(kv);

/** A store's location without the parts of an address that may be secret: its user and its query. */
export const shownLocation = (kv: string): string =>
  isRemote(kv) ? kv.replace(/(?<=^https?:\/\/)[^/?#]*@/, "").replace(/[?#].*/, "") : kv;
