import type { Content } from "../call/route.ts";
import { markup, pagePolicy, trusted } from "./html.ts";

const STYLE = `
:root { color-scheme: light dark; }
* { box-sizing: border-box; }
body { margin: 3rem auto; max-width: 30rem; padding: 0 1rem;
  font: 16px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.4rem; }
label { display: block; margin-top: .8rem; }
input, button { font: inherit; padding: .45rem .6rem; }
input { width: 100%; }
#user_code { font-family: ui-monospace, Menlo, Consolas, monospace; text-transform: uppercase; }
button { margin: 1.2rem .6rem 0 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; }
dd { margin: 0; overflow-wrap: anywhere; }
`;

/** The credential stays in a variable of the page, so no other site can use it. The session ends with the decision. */
const SCRIPT = `
"use strict";
const at = (id) => document.getElementById(id);
const say = (text) => at("message").textContent = text;
let signedIn = null;

async function call(method, path, body) {
  const headers = { "content-type": "application/json" };
  if (signedIn !== null) headers.authorization = "Bearer " + signedIn.token;
  const response = await window.fetch(path, {
    method, headers, credentials: "omit", body: body && JSON.stringify(body),
  });
  const answer = response.status === 204 ? null : await response.json();
  if (response.ok) return answer;
  const error = new Error(answer.error.message);
  error.reason = answer.error.details.reason;
  throw error;
}

async function signOut() {
  if (signedIn === null) return;
  const { sessions } = await call("GET", "/api/account/sessions");
  const own = sessions.find(({ current }) => current);
  if (own) await call("DELETE", "/api/account/sessions/" + own.id);
  signedIn = null;
}

at("ask").addEventListener("submit", async (event) => {
  event.preventDefault();
  say("");
  try {
    await signOut();
    const code = at("code").value.trim();
    signedIn = await call("POST", "/api/v1/login", {
      email: at("email").value, password: at("password").value, ...(code !== "" && { code }),
    });
    const login = await call("POST", "/api/account/device-login", { user_code: at("user_code").value });
    at("name").textContent = login.device_name;
    at("address").textContent = login.address;
    at("asked").textContent = new Date(login.created_at).toLocaleString();
    at("as").textContent = signedIn.user.email + " of " + signedIn.organization.name;
    at("ask").hidden = true;
    at("decide").hidden = false;
    at("deny").focus();
  } catch (error) {
    if (error.reason === "second_factor_required") at("code").focus();
    say(error.message);
  }
});

for (const [id, approve] of [["approve", true], ["deny", false]]) {
  at(id).addEventListener("click", async () => {
    try {
      await call("POST", "/api/account/device-login/decide", {
        user_code: at("user_code").value, approve,
      });
      at("decide").hidden = true;
      say(approve ? "Approved. Go back to your terminal." : "Denied. The terminal gets nothing.");
      await signOut();
    } catch (error) {
      say(error.message);
    }
  });
}
`;

const POLICY = pagePolicy(STYLE, SCRIPT);

const PAGE = markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in a terminal</title>
<style>${trusted(STYLE)}</style>
</head>
<body>
<h1>Sign in a terminal</h1>
<form id="ask">
<p>Enter the code only if you started <code>relay login</code> yourself and read the code in your own
terminal. Nobody of Relay asks you for it.</p>
<label>Code <input id="user_code" required maxlength="16" autocomplete="off" autofocus></label>
<label>Email <input id="email" type="email" required autocomplete="username"></label>
<label>Password <input id="password" type="password" required autocomplete="current-password"></label>
<label>Second factor, if you have one <input id="code" autocomplete="one-time-code"></label>
<button>Continue</button>
</form>
<div id="decide" hidden>
<dl><dt>Terminal</dt><dd id="name"></dd>
<dt>Address</dt><dd id="address"></dd>
<dt>Asked</dt><dd id="asked"></dd>
<dt>Signs in as</dt><dd id="as"></dd></dl>
<p>If you approve, this terminal may do everything that you may do, until it signs out or has not been
used for 30 days.</p>
<button id="deny">Deny</button>
<button id="approve">Approve</button>
</div>
<p id="message" role="status"></p>
<script>${trusted(SCRIPT)}</script>
</body>
</html>
`;

/** The page at which a person approves the sign-in of a terminal: one file of HTML that loads nothing. */
export const devicePage: Content = {
  type: "text/html; charset=utf-8",
  body: PAGE.markup,
  headers: {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
  },
};
