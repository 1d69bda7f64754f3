/** The style of a report's page: the console's colours and type. Every pair of colours has a contrast of at least 4.5. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --bg: #ffffff; --line: #dfe3e8; --text: #1b2430; --soft: #566273; --code: #eef1f5;
  --warn: #7a4a00; --warn-bg: #fdf0d9; --terminal: #111826; --terminal-text: #e3e9f2;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --bg: #10151c; --line: #2c3745; --text: #e4e9f0; --soft: #a3b0c0; --code: #222c39;
    --warn: #f0bd6a; --warn-bg: #35270f; --terminal: #0a0e14; --terminal-text: #dbe4f0;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--text); font: 1rem/1.5 var(--sans); }
main { margin: 0 auto; max-width: 70rem; padding: 2rem 2rem 4rem; }
h1, h2, h3 { line-height: 1.25; margin: 0; text-wrap: balance; }
h1 { font-size: 1.5rem; }
h2 { margin: 2rem 0 .75rem; padding-bottom: .25rem; font-size: 1.1rem; border-bottom: 1px solid var(--line); }
h3 { margin: 1.5rem 0 .25rem; font-size: 1rem; }
p, ul { margin: 0 0 .5rem; }
dl { display: grid; grid-template-columns: minmax(7rem, max-content) minmax(0, 1fr); gap: .25rem 1rem;
  margin: .75rem 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
table { width: 100%; border-collapse: collapse; margin: .5rem 0 1rem; font-size: .9rem; }
th, td { padding: .3rem .5rem; text-align: left; vertical-align: top; overflow-wrap: anywhere;
  border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; overflow-wrap: normal; }
.number { font-variant-numeric: tabular-nums; }
.notice { padding: .6rem .9rem; border-radius: .5rem; color: var(--warn); background: var(--warn-bg); }
.soft { color: var(--soft); font-weight: 400; }
code, pre { font-family: var(--mono); font-size: .88em; }
code { background: var(--code); border-radius: .25rem; padding: .1em .35em; overflow-wrap: anywhere; }
pre { margin: .5rem 0; padding: .75rem; white-space: pre-wrap; overflow-wrap: anywhere; border-radius: .5rem;
  background: var(--terminal); color: var(--terminal-text); }
@media screen and (max-width: 45rem) {
  main { padding: 1rem 1rem 4rem; }
  dl { grid-template-columns: minmax(0, 1fr); }
  dt { margin-top: .5rem; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tr { display: block; padding: .5rem 0; border-bottom: 1px solid var(--line); }
  td { display: grid; grid-template-columns: 7rem minmax(0, 1fr); gap: .5rem; border: 0; padding: .1rem 0; }
  td::before { content: attr(data-title); color: var(--soft); }
  td:empty { display: none; }
}
thead { display: table-header-group; }
tr, h2, h3 { break-inside: avoid; }
h2, h3 { break-after: avoid; }
@page { margin: 18mm 15mm; }
@media print {
  :root {
    color-scheme: light;
    --bg: #ffffff; --line: #b5bdc7; --text: #000000; --soft: #3d4754; --code: #ffffff;
    --warn: #000000; --warn-bg: #ffffff; --terminal: #ffffff; --terminal-text: #000000;
  }
  main { max-width: none; padding: 0; }
  body { font-size: 10pt; }
  pre, .notice { border: 1px solid var(--line); }
}
`;
