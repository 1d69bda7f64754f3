import { useState } from "preact/hooks";
import { call, type Device } from "../../../api.ts";
import { Copy } from "../../../components/copy.ts";
import { Failure } from "../../../components/states.ts";
import { now, TimeLeft } from "../../../components/time.ts";
import { onOneLine } from "../../../components/visible_text.ts";
import { useData } from "../../../data.ts";
import { html } from "htm/preact";
import { type Installed, isLoopback, pairingLine } from "../../../pairing.ts";
import { addressOf } from "../../../router.ts";
import { may } from "../../../session.ts";

/** A pairing code, with the name that the machine is to have. */
export interface Code {
  readonly id: string;
  readonly pairing_code: string;
  readonly expires_at: string;
  readonly name: string;
}

/** The line for the machine, and what has become of it. */
export function Pairing({ code, again }: { readonly code: Code; readonly again: () => void }) {
  const [installed, setInstalled] = useState<Installed>("relay");
  const { data, error, again: retry } = useData(
    async (signal) => {
      const query = { pairing_code_id: code.id };
      return (await call("devices.list", { query, signal })).devices[0] ?? null;
    },
    [code.id],
    { types: ["device", "agent"] },
  );
  const isLate = Date.parse(code.expires_at) <= now.value;
  if (data?.agent_id) return html`<${Arrived} device=${data} again=${again} />`;
  const line = pairingLine(installed, {
    url: location.origin,
    name: code.name,
    code: code.pairing_code,
  });
  return html`
    ${data === null && !isLate &&
      html`<${ToPaste} line=${line} installed=${installed} onInstalled=${setInstalled} />`}
    <section class="card">
      <h2>${headingOf(data, isLate)}</h2>
      <p class="unseen" role="status">${headingOf(data, isLate)}</p>
      ${error !== null && html`<${Failure} error=${error} again=${retry} />`}
      ${data?.trust_status === "trusted"
        ? html`
          <p>It is paired as ${onOneLine(data.agent_name ?? data.name)}. Start its agent there:</p>
          <${Copy} text=${installed === "relay" ? "relay agent" : agentLine(line)} />
        `
        : isLate
        ? html`
          <p>No machine used the code in its ten minutes.</p>
          <button type="button" class="primary" onClick=${again}>Make a new code</button>
        `
        : html`<p>The code expires in <${TimeLeft} until=${code.expires_at} />. This page says when the
          machine is here.</p>`}
    </section>
  `;
}

/** The line to paste on the machine, while its code works. */
function ToPaste({ line, installed, onInstalled }: {
  readonly line: string;
  readonly installed: Installed;
  readonly onInstalled: (installed: Installed) => void;
}) {
  return html`
    <section class="card">
      <h2>Run this on the machine</h2>
      <fieldset class="ways">
        <legend class="unseen">How Relay is started there</legend>
        ${WAYS.map(([way, words]) =>
          html`
            <label>
              <input type="radio" name="installed" checked=${way === installed}
                onChange=${() => onInstalled(way)} /> ${words}
            </label>
          `
        )}
      </fieldset>
      <${Copy} text=${line} label="Copy the line" />
      <p class="soft">Linux and macOS. The line works once, and keeps the agent running until Ctrl-C. The
        code is not shown again after you leave this page.</p>
      ${isLoopback(location.hostname) && html`
        <p class="soft">${location.origin} means the machine itself. For another machine, open the
          console by the relay's own address, or make this one reachable there:${" "}
          <code>ssh -R ${location.port}:127.0.0.1:${location.port} machine</code></p>
      `}
    </section>
  `;
}

const WAYS: readonly (readonly [Installed, string])[] = [
  ["relay", "The program relay is installed there"],
  ["clone", "In a clone of Relay, with Node"],
];

/** The part of a pairing line that starts the agent. */
const agentLine = (line: string): string => line.slice(line.indexOf(" && ") + 4);

function headingOf(device: Device | null, isLate: boolean): string {
  if (device?.trust_status === "trusted") return "Waiting for the agent…";
  if (device !== null) return "The machine has used the code…";
  return isLate ? "The code has expired" : "Waiting for the machine…";
}

function Arrived({ device, again }: { readonly device: Device; readonly again: () => void }) {
  const name = onOneLine(device.agent_name ?? device.name);
  return html`
    <section class="card arrived" role="status">
      <h2>It is here: ${name}</h2>
      <p>The agent is connected, and takes commands.</p>
      <p class="actions">
        ${may("agents:write") && html`
          <a class="button primary" href=${addressOf("/run", { agent: device.agent_id! })}>
            Run its first command
          </a>
        `}
        <a class="button" href=${addressOf(`/agents/${device.agent_id}`)}>Open ${name}</a>
        <button type="button" onClick=${again}>Add another machine</button>
      </p>
    </section>
  `;
}
