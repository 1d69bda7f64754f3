import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { PageList } from "../../console/app/page_list.ts";

const PER_PAGE = 10;

/** A list whose rows hold the version at which they were read. `during` runs while page `n` is on its way. */
class Source {
  version = 1;
  during: (n: number) => void = () => {};
  shown: readonly string[] = [];
  readonly list: PageList<string> = new PageList<string>(
    async (from) => {
      const start = Number(from ?? 0);
      const rows = Array.from({ length: PER_PAGE }, (_, n) => `${start + n} v${this.version}`);
      await Promise.resolve();
      this.during(start / PER_PAGE);
      return { rows, next: `${start + PER_PAGE}` };
    },
    (pages) => this.shown = pages.flatMap(({ rows }) => rows),
  );

  /** Something changes while page `n` is on its way, once. */
  changeDuring(n: number): void {
    this.during = (page) => {
      if (page !== n) return;
      this.during = () => {};
      this.change();
    };
  }

  change(): void {
    this.version++;
    this.list.changed();
  }

  /** Loads until this page is visible. */
  async scrollTo(page: number): Promise<void> {
    await this.list.refresh();
    for (let n = 1; n <= page; n++) {
      this.list.see(n * PER_PAGE - 1, n * PER_PAGE - 1);
      await this.list.refresh();
    }
  }

  /** The versions of the rows of these pages. */
  versions(first: number, last: number): string[] {
    const rows = this.shown.slice(first * PER_PAGE, (last + 1) * PER_PAGE);
    return [...new Set(rows.map((row) => row.split(" ")[1]!))];
  }
}

Deno.test("lists: a change while the next page is on its way makes the pages before it stale", async () => {
  const source = new Source();
  await source.scrollTo(0);
  eq(source.list.see(5, 9), true);
  source.changeDuring(1);
  await source.list.refresh();
  eq(source.list.see(5, 12), true);
  await source.list.refresh();
  deq(source.versions(0, 1), ["v2"]);
  eq(source.list.see(0, 5), false);
});

Deno.test("lists: a change while the top of a list is fetched again is in all of its pages", async () => {
  const source = new Source();
  await source.scrollTo(1);
  source.list.see(5, 12);
  source.change();
  source.changeDuring(1);
  await source.list.refresh();
  await source.list.refresh();
  deq(source.versions(0, 1), ["v3"]);
});

Deno.test("lists: further down, a change while one page is fetched again makes the other stale too", async () => {
  const source = new Source();
  await source.scrollTo(6);
  source.list.see(45, 52);
  source.change();
  source.changeDuring(5);
  await source.list.refresh();
  await source.list.refresh();
  deq([source.versions(4, 5), source.versions(0, 0)], [["v3"], ["v1"]]);
});
