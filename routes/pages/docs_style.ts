/** The style of the reference page; every pair of colours has a contrast of at least 4.5. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --bg: #ffffff; --panel: #f6f7f9; --raised: #ffffff; --line: #dfe3e8; --text: #1b2430;
  --soft: #566273; --link: #0b5cc4; --focus: #0b5cc4; --code: #eef1f5;
  --get: #0b5cc4; --post: #1a7340; --put: #8a5300; --delete: #b3261e;
  --good: #1a7340; --bad: #b3261e; --terminal: #111826; --terminal-text: #e3e9f2;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --bg: #10151c; --panel: #161d26; --raised: #1a222d; --line: #2c3745; --text: #e4e9f0;
    --soft: #a3b0c0; --link: #82b7ff; --focus: #82b7ff; --code: #222c39;
    --get: #82b7ff; --post: #74d69a; --put: #f0bd6a; --delete: #ff9d94;
    --good: #74d69a; --bad: #ff9d94; --terminal: #0a0e14; --terminal-text: #dbe4f0;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 4.5rem; }
body { margin: 0; background: var(--bg); color: var(--text); font: 1rem/1.5 var(--sans); }
h1, h2, h3, h4 { line-height: 1.25; margin: 0; text-wrap: balance; }
p { margin: 0 0 .75rem; }
a { color: var(--link); text-underline-offset: .2em; }
code, pre { font-family: var(--mono); font-size: .88em; }
code { background: var(--code); border-radius: .25rem; padding: .1em .35em; overflow-wrap: anywhere; }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; }
[hidden] { display: none !important; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; top: .5rem; z-index: 3; background: var(--bg); padding: .5rem; }

.top { position: sticky; top: 0; z-index: 2; display: flex; align-items: center; gap: 1rem;
  min-height: 3.5rem; padding: 0 1rem; background: var(--bg); border-bottom: 1px solid var(--line); }
.top p { margin: 0; white-space: nowrap; }
.brand { font-weight: 700; font-size: 1.1rem; color: inherit; text-decoration: none; }
.version { margin-left: .5rem; color: var(--soft); font-size: .85rem; }
.top search { flex: 1; max-width: 30rem; }
.top label { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.top .places { display: flex; gap: 1rem; margin-left: auto; font-size: .95rem; }
input, select { width: 100%; font: inherit; font-size: .95rem; color: var(--text); min-height: 2.4rem;
  background: var(--raised); border: 1px solid var(--soft); border-radius: .5rem; padding: .4rem .75rem; }
input::placeholder { color: var(--soft); opacity: 1; }

.page { display: grid; grid-template-columns: 18rem minmax(0, 1fr); }
nav { position: sticky; top: 3.5rem; align-self: start; height: calc(100vh - 3.5rem); overflow-y: auto;
  padding: 1.25rem .75rem 3rem; background: var(--panel); border-right: 1px solid var(--line); }
nav summary { display: none; }
nav h2 { font-size: .8rem; margin: 1.25rem .5rem .25rem; }
nav h2 a { color: var(--soft); text-decoration: none; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav li a { display: flex; gap: .5rem; align-items: baseline; padding: .3rem .5rem; border-radius: .4rem;
  color: var(--text); text-decoration: none; font-size: .86rem; line-height: 1.35; }
nav li a:hover { background: var(--code); }
nav li a[aria-current] { background: var(--code); box-shadow: inset 3px 0 var(--link); }
nav .method { flex: none; width: 3.3rem; }

main { padding: 1.5rem 2rem 6rem; max-width: 100rem; outline: none; }
#found:empty { display: none; }
#found { color: var(--soft); }
h1 { font-size: 1.5rem; margin-bottom: .25rem; }
.introduction { max-width: 46rem; }
.introduction { margin-bottom: 2rem; }
.introduction h2 { font-size: 1.1rem; margin: 1.5rem 0 .5rem; }
.introduction ul { padding-left: 1.2rem; }
.lead { color: var(--soft); }
.token { display: grid; gap: .3rem; padding: 1rem; background: var(--panel); border: 1px solid var(--line);
  border-radius: .5rem; }
.token label { font-weight: 600; }
.token span { color: var(--soft); font-size: .86rem; }
.area { border: 1px solid var(--line); border-radius: .5rem; margin-bottom: .5rem; }
.area > summary { padding: .75rem 1rem; }
.area > summary h2 { display: inline; font-size: 1.1rem; }
.area > summary span { margin-left: .5rem; color: var(--soft); font-size: .85rem; }

.area:not([open]) > .operation { display: none; }
.operation { padding: 1.5rem 1rem; border-top: 1px solid var(--line); content-visibility: auto;
  contain-intrinsic-size: auto 45rem; }
.operation h3 { font-size: 1rem; }
.operation h3 a { color: inherit; text-decoration: none; }
.operation h3 a:hover { text-decoration: underline; }
.operation h4 { font-size: .95rem; margin: 1.25rem 0 .5rem; }
.endpoint { margin: .4rem 0; }
.endpoint code { background: none; padding: 0; font-size: .95em; }
.method { font: 700 .72rem/1 var(--mono); letter-spacing: .02em; }
.endpoint .method { font-size: .86rem; margin-right: .35rem; }
.get { color: var(--get); } .post { color: var(--post); } .put, .patch { color: var(--put); }
.delete { color: var(--delete); }
.badges { display: flex; flex-wrap: wrap; gap: .35rem; margin: .5rem 0 1rem; }
.badge { font-size: .76rem; line-height: 1.3; color: var(--soft); background: none;
  border: 1px solid var(--line); border-radius: 1rem; padding: .12rem .6rem; }
.badge.scope { color: var(--link); border-color: currentColor; font-family: var(--mono); }
.badge.public { color: var(--good); border-color: currentColor; }
.columns { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 26rem); gap: 2rem; }
.text > :first-child { margin-top: 0; }

.fields { list-style: none; margin: 0; padding: 0; border-top: 1px solid var(--line); }
.fields > li { padding: .55rem 0; border-bottom: 1px solid var(--line); }
.fields p { margin: .15rem 0 0; font-size: .9rem; }
.fields .fields { margin-left: .9rem; padding-left: .9rem; border-left: 2px solid var(--line); border-top: 0; }
.fields .fields > li:last-child { border-bottom: 0; }
.name { background: none; padding: 0; font-weight: 700; }
.type { color: var(--soft); font-size: .84rem; }
.required { color: var(--bad); font-size: .78rem; font-weight: 600; }
.limits { display: flex; flex-wrap: wrap; gap: .1rem .9rem; color: var(--soft); font-size: .84rem !important; }
summary { cursor: pointer; border-radius: .3rem; }
.fields summary, .introduction summary { font-size: .88rem; color: var(--link); margin-top: .3rem; }
.response { border: 1px solid var(--line); border-radius: .5rem; margin-bottom: .4rem; background: var(--raised); }
.response > summary { padding: .45rem .75rem; font-size: .88rem; }
.response > :not(summary) { margin: .4rem .75rem .6rem; }
.response > summary code { background: none; padding: 0; }
.status { font: 700 .84rem/1 var(--mono); margin-right: .3rem; }
.good { color: var(--good); } .bad { color: var(--bad); }
.codes { display: grid; grid-template-columns: minmax(8rem, max-content) 1fr; gap: .35rem 1rem; margin: .5rem 0;
  font-size: .88rem; }
.codes dd { margin: 0; }

.aside { position: relative; }
.try { position: sticky; top: 4.5rem; border: 1px solid var(--line); border-radius: .5rem; padding: .75rem;
  background: var(--panel); }
.bar { display: flex; align-items: center; justify-content: space-between; margin-bottom: .5rem; }
.bar h4 { margin: 0; }
pre { margin: 0; padding: .75rem; border-radius: .5rem; background: var(--terminal); color: var(--terminal-text);
  white-space: pre-wrap; overflow-wrap: anywhere; max-height: 26rem; overflow: auto; line-height: 1.5; }
pre code { background: none; padding: 0; font-size: 1em; color: inherit; }
.try details { margin-top: .6rem; font-size: .9rem; }
.try label { display: grid; grid-template-columns: minmax(6rem, 9rem) 1fr; gap: .6rem; align-items: center;
  margin-top: .4rem; font-family: var(--mono); font-size: .8rem; overflow-wrap: anywhere; }
button { font: inherit; font-size: .95rem; cursor: pointer; border-radius: .5rem; padding: .4rem .75rem;
  min-height: 2.4rem; color: var(--text); background: var(--raised); border: 1px solid var(--soft); }
button:hover { background: var(--code); }
.send, .send:hover { margin-top: .7rem; background: var(--link); color: var(--bg); border-color: var(--link);
  font-weight: 600; }
.send:hover { filter: brightness(1.1); }
.result { margin: .7rem 0 .4rem; font-size: .86rem; overflow-wrap: anywhere; }

@media (max-width: 75rem) { .columns { grid-template-columns: minmax(0, 1fr); gap: 1.25rem; } .try { position: static; } }
@media (max-width: 52rem) {
  html { scroll-padding-top: 7rem; }
  .top { flex-wrap: wrap; gap: .5rem 1rem; padding: .5rem .75rem; }
  .top search { order: 3; flex-basis: 100%; max-width: none; }
  .page { display: block; }
  nav { position: static; height: auto; max-height: none; border-right: 0; border-bottom: 1px solid var(--line);
    padding: .5rem 1rem; }
  nav summary { display: list-item; padding: .4rem; font-weight: 600; }
  main { padding: 1rem 1rem 6rem; }
  input, select, button { min-height: 2.75rem; }
  .codes { grid-template-columns: 1fr; gap: .1rem; }
  .codes dd { margin-bottom: .5rem; }
}
@media (scripting: none) { .top search, .bar button, .send { display: none; } }
@media print { .top, nav, .aside { display: none; } .page, .columns { display: block; } }
`;
