/**
 * The script of the reference page. It contains no data and writes text only, never markup. Without it only
 * search, filled-in commands and the forms are missing. Work on an endpoint waits until its group is opened.
 */
export const SCRIPT = `
"use strict";
const ANSWER_CHARACTERS_MAX = 262144;
const all = (selector, root) => [...(root || document).querySelectorAll(selector)];
const search = document.getElementById("search");
const token = document.getElementById("token");
const found = document.getElementById("found");
const contents = document.querySelector("nav details");
const areas = all("details.area");
const narrow = matchMedia("(max-width: 52rem)");
const fold = () => { contents.open = !narrow.matches; };
narrow.addEventListener("change", fold);
fold();

// The groups that were open when the search began; null while nobody searches.
let openBefore = null;
function filter() {
  const words = search.value.toLowerCase().split(/\\s+/).filter(Boolean);
  const searches = words.length > 0;
  if (!searches && openBefore === null) return;
  if (searches) openBefore ??= areas.filter((area) => area.open);
  let shown = 0;
  for (const operation of all(".operation")) {
    const hit = words.every((word) => operation.dataset.search.includes(word));
    operation.hidden = !hit;
    if (hit) shown += 1;
  }
  for (const line of all("nav li[data-for]")) {
    line.hidden = document.getElementById(line.dataset.for).hidden;
  }
  for (const area of all("[data-area]")) {
    area.hidden = all(".operation, li[data-for]", area).every((entry) => entry.hidden);
  }
  for (const area of areas) area.open = searches ? !area.hidden : openBefore.includes(area);
  if (!searches) openBefore = null;
  document.querySelector(".introduction").hidden = searches;
  found.textContent = !searches ? "" : shown === 1 ? "1 endpoint" : shown + " endpoints";
}
search.addEventListener("input", filter);
function showAll() {
  search.value = "";
  filter();
}
// Opens the group of what an address names; true if it was closed.
function reveal(target) {
  if (target === null) return false;
  if (target.closest("[hidden]") !== null) showAll();
  const area = target.closest("details.area");
  if (area === null || area.open) return false;
  return area.open = true;
}
function follow() {
  const target = document.getElementById(location.hash.slice(1));
  if (reveal(target)) target.scrollIntoView();
}
addEventListener("hashchange", follow);
addEventListener("beforeprint", () => areas.forEach((area) => area.open = true));
follow();
search.addEventListener("keydown", (event) => {
  if (event.key === "Escape") showAll();
});
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, select, textarea");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  search.focus();
});
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#']");
  if (link === null) return;
  reveal(document.getElementById(link.hash.slice(1)));
  if (narrow.matches && link.closest("nav") !== null) contents.open = false;
});

const lines = new Map(all("nav li[data-for] a").map((link) => [link.hash.slice(1), link]));
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    for (const link of lines.values()) link.removeAttribute("aria-current");
    const link = lines.get(entry.target.id);
    link.setAttribute("aria-current", "location");
    if (!narrow.matches) link.scrollIntoView({ block: "nearest", behavior: "instant" });
  }
}, { rootMargin: "-15% 0px -75% 0px" });
all(".operation").forEach((operation) => watcher.observe(operation));

function requestOf(form) {
  const query = [];
  const headers = {};
  let path = form.dataset.path;
  for (const { name, value, required, dataset } of all("[data-in]", form)) {
    if (dataset.in === "path" && value !== "") {
      path = path.replace("{" + name + "}", encodeURIComponent(value));
    } else if (dataset.in === "query" && (value !== "" || required)) {
      query.push(name + "=" + (value === "" ? "{" + name + "}" : encodeURIComponent(value)));
    } else if (dataset.in === "header" && value !== "") {
      headers[name] = value;
    }
  }
  const search = query.length > 0 ? "?" + query.join("&") : "";
  return { url: location.origin + path + search, headers };
}
const quoted = (text) => "'" + text.replaceAll("'", "'\\\\''") + "'";
function showCommand(form) {
  const { url, headers } = requestOf(form);
  form.querySelector(".url").textContent = quoted(url);
  form.querySelector(".headers").textContent = Object.entries(headers)
    .filter(([name]) => name !== "Sec-WebSocket-Protocol")
    .map(([name, value]) => " \\\\\\n  -H " + quoted(name + ": " + value)).join("");
}

async function boundedText(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (text.length < ANSWER_CHARACTERS_MAX) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += value;
  }
  await reader.cancel();
  return text.slice(0, ANSWER_CHARACTERS_MAX) + "\\n… (cut here)";
}
function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
async function send(form) {
  const { url, headers } = requestOf(form);
  const answer = form.querySelector(".answer");
  const result = form.querySelector(".result");
  const body = answer.querySelector("pre");
  const secret = token.value.trim();
  if (form.dataset.auth === "yes" && secret !== "") headers.Authorization = "Bearer " + secret;
  answer.hidden = false;
  result.textContent = "Asking…";
  body.textContent = "";
  try {
    const startedMs = performance.now();
    const response = await window.fetch(url, { headers, credentials: "omit", cache: "no-store" });
    const text = await boundedText(response);
    const tookMs = Math.round(performance.now() - startedMs);
    const id = response.headers.get("x-request-id");
    result.textContent = response.status + " " + response.statusText + ", " + tookMs + " ms, " +
      "X-Request-Id " + id;
    body.textContent = pretty(text);
  } catch (error) {
    result.textContent = "No answer: " + error.message;
  }
}
for (const area of areas) {
  const fill = () => all("form.try", area).forEach(showCommand);
  if (area.open) fill();
  else area.addEventListener("toggle", fill, { once: true });
}
const main = document.getElementById("main");
main.addEventListener("input", (event) => {
  const form = event.target.closest("form.try");
  if (form !== null) showCommand(form);
});
main.addEventListener("submit", (event) => {
  event.preventDefault();
  if (event.target.querySelector(".answer") !== null) send(event.target);
});
main.addEventListener("click", async (event) => {
  const button = event.target.closest(".copy");
  if (button === null) return;
  const command = button.form.querySelector("pre code");
  try {
    await navigator.clipboard.writeText(command.textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(command);
    button.textContent = "Selected";
  }
});
main.addEventListener("focusout", (event) => {
  if (event.target.matches(".copy")) event.target.textContent = "Copy";
});
`;
