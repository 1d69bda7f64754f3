import { useState } from "preact/hooks";
import {
  callLive,
  type McpConsent,
  type Operations,
  type Scope,
  type ScopeInfo,
  type Space,
} from "../../api.ts";
import { ChangeError, useChange } from "../../components/form.ts";
import { CheckGroups, SelectField } from "../../components/inputs.ts";
import { scopeGroups, useScopes } from "../../components/scopes.ts";
import { Failure, Loading } from "../../components/states.ts";
import { onOneLine, VisibleText } from "../../components/visible_text.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { query } from "../../router.ts";
import { may, me } from "../../session.ts";

/** What the relay reads of an authorization request; clients may send more, and empty fields count as left out. */
const FIELDS = [
  ...["response_type", "client_id", "redirect_uri", "code_challenge", "code_challenge_method"],
  ...["state", "scope", "resource"],
];

type Asked = Operations["mcp_clients.read_request"]["body"];

/**
 * Asks the viewer whether an MCP client may act for them. The address holds what the client asks for; the space that it
 * names does not count, since the viewer chooses one.
 */
export default function Authorize() {
  const [request] = useState(() =>
    Object.fromEntries(
      Object.entries(query.value).filter(([name, value]) => FIELDS.includes(name) && value !== ""),
    )
  );
  // The relay checks every field.
  const asked = request as unknown as Asked;
  const consent = useData(
    (signal) => callLive("mcp_clients.read_request", { body: asked, signal }),
    [],
  );
  const known = useScopes();
  const failed = [consent, known].find(({ error }) => error !== null);
  return html`
    <section class="card slim" aria-label="Connect a client">
      ${failed !== undefined
        ? html`
          <h1>This client cannot be connected</h1>
          <${Failure} error=${failed.error} again=${failed.again} />
          <p class="soft">Nothing was given to it. Go back to the client and begin again.</p>
        `
        : consent.data === null || known.data === null
        ? html`<${Loading} />`
        : html`<${Question} asked=${asked} consent=${consent.data} known=${known.data} />`}
    </section>
  `;
}

/** What is ticked when a client asks for every right, as most do without a reason: to look, and to run commands. */
const isUsual = (scope: Scope): boolean =>
  scope.endsWith(":read") && scope !== "secrets:read" || scope === "agents:write";

function Question({ asked, consent, known }: {
  readonly asked: Asked;
  readonly consent: McpConsent;
  readonly known: readonly ScopeInfo[];
}) {
  const change = useChange();
  const asksForAll = consent.scopes.length === known.length;
  const [chosen, setChosen] = useState<readonly string[]>(
    () => consent.scopes.filter((scope) => may(scope) && (!asksForAll || isUsual(scope))),
  );
  const [space, setSpace] = useState("live");
  const [decided, setDecided] = useState<string | null>(null);
  const { name, client_host, redirect_uri, resource, scopes } = consent;
  const { user, organization } = me.value!;
  const decide = (approve: boolean) =>
    change.run(async () => {
      const choice = approve ? { scopes: chosen as McpConsent["scopes"] } : {};
      const { redirect_to } = await callLive("mcp_clients.decide", {
        body: { ...asked, ...choice, approve, space: space as Space },
      });
      setDecided(redirect_to);
      location.assign(redirect_to);
    });
  if (decided !== null) {
    return html`
      <h1>Back to the client</h1>
      <p>If it does not open by itself, <a href=${decided}>go back to ${onOneLine(
        name,
      )}</a>. You can
        close this page then.</p>
    `;
  }
  const missing = scopes.filter((scope) => !may(scope));
  return html`
    <h1>Let <${VisibleText} text=${name} /> act for you?</h1>
    <p>It will call this relay as you, with the rights that you choose, until you end it in your
      settings.</p>
    <dl class="facts">
      <dt>You</dt>
      <dd>${user.email} of ${onOneLine(organization.name)}</dd>
      <dt>Client</dt>
      <dd>${client_host === null
        ? "It registered itself, so any program may use this name."
        : html`described by <strong>${client_host}</strong>`}</dd>
      <dt>Returns to</dt>
      <dd><strong>${placeOf(redirect_uri)}</strong><br />
        <code><${VisibleText} text=${redirect_uri} /></code></dd>
      <dt>For</dt>
      <dd><code>${resource}</code></dd>
    </dl>
    <${CheckGroups} legend="Rights" chosen=${chosen} onChange=${setChosen}
      groups=${scopeGroups(known, (scope) => scopes.includes(scope) && may(scope))} />
    ${missing.length > 0 &&
      html`<p class="soft">It also asks for ${missing.join(", ")}, which you do not have.</p>`}
    <${SelectField} label="Space" value=${space} onChange=${setSpace}
      options=${[["live", "Live"], ["test", "Test"]]} />
    <${ChangeError} change=${change} />
    <p class="actions">
      <button type="button" class="primary" disabled=${change.isBusy || chosen.length === 0}
        onClick=${() => decide(true)}>Allow</button>
      <button type="button" disabled=${change.isBusy} onClick=${() => decide(false)}>Refuse</button>
    </p>
  `;
}

/** Where a browser goes with the answer, in words. */
function placeOf(address: string): string {
  const { protocol, host, hostname } = new URL(address);
  if (protocol === "https:") return host;
  const isLocal = protocol === "http:";
  return isLocal ? `a program on this computer (${hostname})` : `the program for ${protocol}`;
}
