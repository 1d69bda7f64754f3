/** A page of a list. */
export interface Page<T> {
  readonly rows: readonly T[];
  /** What the next page begins after; null at the end. */
  readonly next: string | null;
}

interface Loaded<T> extends Page<T> {
  readonly from: string | null;
  /** The changes that were known when it was requested. A later one makes the page stale. */
  readonly changes: number;
}

/** Up to this page, a change fetches the list again from its start, so that new rows appear. */
const FRESH_PAGES = 3;

/**
 * The loaded pages of a list. Further down, pages keep their start, so that nothing moves under the viewer; at the top,
 * new rows appear.
 */
export class PageList<T> {
  #pages: readonly Loaded<T>[] = [];
  #changes = 0;
  /** The first and the last row that are visible. */
  #first = 0;
  #last = 0;
  readonly #load: (from: string | null) => Promise<Page<T>>;
  readonly #show: (pages: readonly Page<T>[]) => void;

  constructor(
    load: (from: string | null) => Promise<Page<T>>,
    show: (pages: readonly Page<T>[]) => void,
  ) {
    this.#load = load;
    this.#show = show;
  }

  /** Any row may have changed. */
  changed(): void {
    this.#changes++;
  }

  /** Says which rows are visible; true when pages of these rows are missing or outdated. */
  see(first: number, last: number): boolean {
    [this.#first, this.#last] = [first, last];
    return this.#isMissing() ||
      this.#pages.slice(this.#pageOf(first), this.#pageOf(last) + 1)
        .some((page) => this.#isStale(page));
  }

  /** Fetches the missing and outdated pages of the visible rows. One call at a time. */
  async refresh(): Promise<void> {
    const seen = this.#pageOf(this.#last);
    if (this.#pages.length === 0 || seen < FRESH_PAGES && this.#isStale(this.#pages[0]!)) {
      return this.#replace(await this.#fetchFirst(seen));
    }
    for (let n = this.#pageOf(this.#first); n <= seen; n++) {
      const page = this.#pages[n]!;
      if (this.#isStale(page)) this.#replace(this.#pages.with(n, await this.#fetch(page.from)));
    }
    const { next } = this.#pages.at(-1)!;
    if (this.#isMissing()) this.#replace([...this.#pages, await this.#fetch(next)]);
  }

  /** The pages from the start to page `last`, as far as the list goes. */
  async #fetchFirst(last: number): Promise<readonly Loaded<T>[]> {
    const pages = [await this.#fetch(null)];
    while (pages.length <= last && pages.at(-1)!.next !== null) {
      pages.push(await this.#fetch(pages.at(-1)!.next));
    }
    return pages;
  }

  async #fetch(from: string | null): Promise<Loaded<T>> {
    const changes = this.#changes;
    return { from, ...await this.#load(from), changes };
  }

  #replace(pages: readonly Loaded<T>[]): void {
    this.#pages = pages;
    this.#show(pages);
  }

  #isStale({ changes }: Loaded<T>): boolean {
    return changes !== this.#changes;
  }

  /** True when the end of what is loaded is visible, and there is more. */
  #isMissing(): boolean {
    const rows = this.#pages.reduce((sum, { rows }) => sum + rows.length, 0);
    return this.#last >= rows - 1 && (this.#pages.at(-1)?.next ?? null) !== null;
  }

  /** The number of the page that holds a row; the last page for rows beyond the end. */
  #pageOf(row: number): number {
    let before = 0;
    for (const [n, { rows }] of this.#pages.entries()) {
      before += rows.length;
      if (row < before) return n;
    }
    return Math.max(0, this.#pages.length - 1);
  }
}
