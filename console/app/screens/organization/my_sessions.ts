import { call, type McpClient, type Session } from "../../api.ts";
import { ChangeError, ConfirmButton, useChange } from "../../components/form.ts";
import { Failure, Loading } from "../../components/states.ts";
import { Time } from "../../components/time.ts";
import { onOneLine, VisibleText } from "../../components/visible_text.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { signOut } from "../../session.ts";

/** Where the viewer is signed in. */
export function MySessions() {
  const { data, error, again } = useData(
    (signal) => call("account.sessions", { query: { limit: 50 }, signal }),
    [],
    { types: ["session"] },
  );
  const leaving = useChange();
  return html`
    <section class="card" aria-label="My sessions">
      <h2>My sessions</h2>
      ${error !== null && html`<${Failure} error=${error} again=${again} />`}
      ${data === null && error === null && html`<${Loading} />`}
      <ul class="rows">
        ${data?.sessions.map((session) =>
          html`<${Row} key=${session.id} session=${session} again=${again} />`
        )}
      </ul>
      <${ConfirmButton} label="Sign out everywhere" change=${leaving} action=${() => signOut(true)}
        question="All your sessions end, this one too." />
    </section>
  `;
}

function Row(
  { session: { id, address, created_at, refreshed_at, current, second_factor }, again }: {
    readonly session: Session;
    readonly again: () => void;
  },
) {
  const change = useChange();
  const end = () =>
    change.run(async () => {
      await call("account.end_session", { params: { id } });
      again();
    });
  return html`
    <li>
      <p>
        <${VisibleText} text=${address} />
        ${current && html`
          <span class="label">this one</span>
        `}
        ${second_factor && html`
          <span class="label">second factor</span>
        `}
        <br /><span class="soft">
          signed in <${Time} at=${created_at} />, last renewed <${Time} at=${refreshed_at ??
            created_at} />
        </span>
      </p>
      ${!current && html`
        <button type="button" disabled=${change.isBusy}
          aria-label=${`End the session from ${onOneLine(address)}`} onClick=${end}>End</button>
      `}
      <${ChangeError} change=${change} />
    </li>
  `;
}

/** The MCP clients that act for the viewer. */
export function MyClients() {
  const { data, error, again } = useData(
    (signal) => call("mcp_clients.list", { query: { limit: 50 }, signal }),
    [],
    { types: ["mcp_grant"] },
  );
  return html`
    <section class="card" aria-label="My MCP clients">
      <h2>My MCP clients</h2>
      <p class="soft">AI clients that you let act for you, within these rights.</p>
      ${error !== null && html`<${Failure} error=${error} again=${again} />`}
      ${data === null && error === null && html`<${Loading} />`}
      ${data?.clients.length === 0 && html`<p>None.</p>`}
      <ul class="rows">
        ${data?.clients.map((client) =>
          html`<${ClientRow} key=${client.id} client=${client} again=${again} />`
        )}
      </ul>
    </section>
  `;
}

function ClientRow(
  { client: { id, name, scopes, space, created_at, refreshed_at, redirect_uri }, again }: {
    readonly client: McpClient;
    readonly again: () => void;
  },
) {
  const change = useChange();
  const end = () =>
    change.run(async () => {
      await call("mcp_clients.end", { params: { id } });
      again();
    });
  return html`
    <li>
      <p>
        <strong><${VisibleText} text=${name} /></strong>${" "}
        ${space === "test" && html`<span class="label">test space</span>`}
        <br /><span class="soft">
          <${VisibleText} text=${redirect_uri} /><br />
          allowed <${Time} at=${created_at} />, last renewed <${Time} at=${refreshed_at ??
            created_at} />
        </span>
        <br />${scopes.map((scope) => html`<span class="label">${scope}</span>${" "}`)}
      </p>
      <button type="button" disabled=${change.isBusy}
        aria-label=${`End the client ${onOneLine(name)}`} onClick=${end}>End</button>
      <${ChangeError} change=${change} />
    </li>
  `;
}
