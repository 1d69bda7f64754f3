/** What a rule answers instead of a result when that will only come later: the caller gets 202 and looks again. */
export class Accepted<T> {
  constructor(readonly value: T) {}
}
