/** A rule returns this while its result is pending: the caller gets 202 and asks again. */
export class Accepted<T> {
  constructor(readonly value: T) {}
}
