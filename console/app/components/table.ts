import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { html } from "htm/preact";
import { addKeys } from "../keys.ts";
import type { Pages } from "../pages.ts";
import { go } from "../router.ts";
import { Failure, Loading } from "./states.ts";

/** A column of a list. */
export interface Column<T> {
  readonly title: string;
  /** The width on a wide screen, as a track of a grid: `2fr`, `8rem`. */
  readonly width: string;
  readonly cell: (row: T) => ComponentChildren;
  /** Left out where the list has no room for all columns, and a row is a card of two lines. */
  readonly wideOnly?: true;
}

interface TableProps<T> {
  readonly list: Pages<T>;
  readonly columns: readonly Column<T>[];
  readonly keyOf: (row: T) => string;
  /** The screen that a row opens. */
  readonly opens?: (row: T) => string;
  /** What the list is of, for screen readers. */
  readonly label: string;
  /** Shown when there are no rows. */
  readonly empty: ComponentChildren;
}

/** Rows outside the window that are drawn too, so that scrolling shows no gaps. */
const MARGIN = 12;
const NARROW = matchMedia("(max-width: 45rem)");
/** The least width of a column that gives none, with the gap before it. */
const LEAST_REM = 6;
const GAP_REM = 1;
const ROW_PX = { wide: 44, narrow: 76 };

/**
 * A list of any length, of which only the rows near the window are drawn. `j` and `k` move between rows and Enter
 * opens one.
 */
export function Table<T>({ list, columns, keyOf, opens, label, empty }: TableProps<T>) {
  const table = useRef<HTMLDivElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState<readonly [first: number, last: number]>([0, 40]);
  const [isNarrow, setNarrow] = useState(NARROW.matches);
  const rowPx = isNarrow ? ROW_PX.narrow : ROW_PX.wide;
  const rows = list.rows ?? [];
  const count = rows.length;
  const latest = useRef(list);
  latest.current = list;
  const move = (by: number) => {
    const links = [...body.current!.querySelectorAll<HTMLElement>(".row")];
    const at = links.indexOf(document.activeElement as HTMLElement);
    links[at < 0 ? 0 : Math.min(links.length - 1, Math.max(0, at + by))]?.focus();
  };
  useEffect(() =>
    addKeys([
      { key: "j", about: "Next row", run: () => move(1) },
      { key: "k", about: "Previous row", run: () => move(-1) },
    ]), []);
  useLayoutEffect(() => {
    const resized = () =>
      setNarrow(NARROW.matches || table.current!.clientWidth < leastPx(columns));
    const observer = new ResizeObserver(resized);
    observer.observe(table.current!);
    resized();
    return () => observer.disconnect();
  }, [columns]);
  useLayoutEffect(() => {
    const measure = () => {
      const { top } = body.current!.getBoundingClientRect();
      const first = Math.max(0, Math.floor(-top / rowPx));
      const last = first + Math.ceil(innerHeight / rowPx);
      // Whole steps, so that most scrolling draws nothing.
      const step = [Math.max(0, first - first % MARGIN - MARGIN), last + 2 * MARGIN] as const;
      setRange((now) => now[0] === step[0] && now[1] === step[1] ? now : step);
      latest.current.see(first, last);
    };
    measure();
    addEventListener("scroll", measure, { passive: true });
    addEventListener("resize", measure);
    return () => {
      removeEventListener("scroll", measure);
      removeEventListener("resize", measure);
    };
  }, [rowPx, count]);
  const [first, last] = range;
  const drawn = rows.slice(first, last);
  const tracks = columns.map(({ width }) => width).join(" ");
  // A table has rows: without any there is only the text that says so.
  const isTable = count > 0;
  const role = (name: string) => isTable ? name : undefined;
  return html`
    <div
      class=${isNarrow ? "table narrow" : "table"} ref=${table} role=${role(
        "table",
      )} aria-label=${isTable ? label : undefined}
      aria-rowcount=${isTable ? list.hasMore ? -1 : count : undefined}
    >
      <div class="head" role=${role("row")} style=${{ gridTemplateColumns: tracks }}>
        ${columns.map(({ title }) => html`<span role=${role("columnheader")}>${title}</span>`)}
      </div>
      <div class="body" ref=${body} role=${role("rowgroup")} style=${{
        height: `${count * rowPx}px`,
      }}>
        ${drawn.map((row, n) => {
          const at = first + n;
          const style = {
            transform: `translateY(${at * rowPx}px)`,
            height: `${rowPx}px`,
            ...!isNarrow && { gridTemplateColumns: tracks },
          };
          return html`
            <div
              key=${keyOf(row)}
              class=${opens ? "row opens" : "row"}
              role="row"
              aria-rowindex=${at + 1}
              tabindex="0"
              style=${style}
              onClick=${opens && ((event: MouseEvent) => isPlain(event) && go(opens(row)))}
              onKeyDown=${opens &&
                ((event: KeyboardEvent) =>
                  event.key === "Enter" && event.target === event.currentTarget && go(opens(row)))}
            >
              ${columns.map(({ cell, title, wideOnly }) =>
                html`<span role="cell" class=${wideOnly ? "wide" : ""} data-title=${title}>${
                  cell(row)
                }</span>`
              )}
            </div>
          `;
        })}
      </div>
    </div>
    ${list.rows === null && list.error === null && html`<${Loading} />`}
    ${list.error !== null && html`<${Failure} error=${list.error} again=${list.again} />`}
    ${list.rows !== null && count === 0 && empty}
  `;
}

/** The width that all columns need side by side. */
function leastPx(columns: readonly { readonly width: string }[]): number {
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  return columns.reduce((sum, { width }) => {
    const [, least] = /([\d.]+)rem/.exec(width) ?? [];
    return sum + (GAP_REM + Number(least ?? LEAST_REM)) * rem;
  }, 0);
}

/** True for a click on the row itself, not on a link or button in it, nor at the end of a selection. */
const isPlain = (event: MouseEvent): boolean =>
  (event.target as Element).closest("a, button, input") === null &&
  getSelection()?.isCollapsed !== false;
