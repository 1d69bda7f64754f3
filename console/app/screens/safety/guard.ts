import { call, type Drift, type Guard } from "../../api.ts";
import { Badge } from "../../components/badge.ts";
import { Name, useNames } from "../../components/names.ts";
import { Failure, Loading } from "../../components/states.ts";
import { Time } from "../../components/time.ts";
import { onOneLine, VisibleText } from "../../components/visible_text.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { addressOf } from "../../router.ts";
import { Backups } from "./backups.ts";
import { HOLDING_TONES, holdingOf } from "./guard_summary.ts";

/** How one agent is guarded, what differs between what was applied and what it holds, and its backups. */
export default function GuardScreen({ id = "" }: Readonly<Record<string, string>>) {
  useNames();
  const { data, error, again } = useData(
    async (signal) => {
      const params = { agent_id: id };
      const [guard, drift] = await Promise.all([
        call("gitops.guard", { params, signal }),
        call("gitops.drift", { params, signal }),
      ]);
      return { guard, drift };
    },
    [id],
    { types: ["agent", "policy", "backup", "restore"], everyMs: 2_000 },
  );
  const failure = error !== null && html`<${Failure} error=${error} again=${again} />`;
  if (data === null) return failure || html`<${Loading} />`;
  return html`
    ${failure}
    <div class="title">
      <h1>Guard of <${Name} id=${id} /></h1>
      <a class="button" href=${addressOf(`/agents/${id}`)}>The agent</a>
      <a class="button" href=${addressOf("/policies/agents")}>All agents</a>
    </div>
    <${GuardFacts} guard=${data.guard} />
    <${DriftItems} drift=${data.drift} />
    <${Backups} agentId=${id} isConnected=${data.guard.status !== "offline"} />
  `;
}

function GuardFacts({ guard }: { readonly guard: Guard }) {
  const { mode, policy, last_canary, verdict_check: check } = guard;
  const holding = holdingOf(guard);
  return html`
    <section class="card">
      <h2>Guard</h2>
      <dl class="facts">
        <dt>Mode</dt>
        <dd>
          <${Badge} state=${mode} tone=${mode === "enforce" ? "good" : "warn"} />
        </dd>
        <dt>Policies</dt>
        <dd>
          <${Badge} state=${holding} tone=${HOLDING_TONES[holding]} />
        </dd>
        <dt>Applied</dt>
        <dd><code>${policy.applied ?? "none"}</code></dd>
        <dt>Confirmed</dt>
        <dd><code>${policy.confirmed ?? "none"}</code></dd>
        <dt>In its file</dt>
        <dd><code>${policy.reported ?? "none"}</code></dd>
        <dt>Signed verdicts</dt>
        <dd>${check.state === "unknown" ? "It has not reported yet." : html`
          ${check.verified ?? 0} verified, ${check.refused ?? 0} refused since its start
          ${check.last_refusal !== null && html`
            <p class="bad">
              <${VisibleText} text=${check.last_refusal} />
            </p>
          `}
        `}</dd>
        <dt>Last canary</dt>
        <dd>${last_canary === null ? "never" : html`
          <${Badge} state=${last_canary.status}
            tone=${last_canary.failed.length === 0 ? "good" : "bad"} />${" "}
          <${Time} at=${last_canary.at} /> by <${Name} id=${last_canary
            .by} />${last_canary.through_agent
            ? ", through this agent"
            : ""}${last_canary.failed.length > 0 && `: ${last_canary.failed.join(", ")}`}
        `}</dd>
      </dl>
    </section>
  `;
}

const DRIFT_TONES = {
  in_sync: "good",
  pending: "warn",
  changed: "bad",
  missing: "bad",
  unexpected: "bad",
  unknown: "quiet",
} as const;

function DriftItems({ drift }: { readonly drift: Drift }) {
  const { items, reached, reported_at, problem } = drift;
  return html`
    <section class="card">
      <h2>Drift</h2>
      <p class="soft">
        ${reached
          ? "The agent was asked now."
          : html`Its last report: <${Time} at=${reported_at} />.`}
      </p>
      ${problem !== null && html`
        <p class="bad">
          <${VisibleText} text=${problem} />
        </p>
      `}
      ${items.length === 0 && html`<p>Nothing was applied to it, and it holds nothing.</p>`}
      <ul class="entries">
        ${items.map(({ item, status, since, by, applied, reported }) =>
          html`
            <li key=${item}>
              <${Badge} state=${status} tone=${DRIFT_TONES[status]} />${" "}
              <strong>${onOneLine(item)}</strong>${" "}
              <span class="soft">
                ${applied !== null && html`applied: version ${applied.version}${" "}
                  <code title=${applied.digest}>${applied.digest.slice(0, 8)}</code>`}${" "}
                ${reported !== null && html`reported:${" "}
                  <code title=${reported.digest}>${reported.digest.slice(0, 8)}</code>`}
              </span>
              ${status !== "in_sync" && html`
                <p class="soft">
                  ${since !== null && html`
                    Since <${Time} at=${since} />.
                  `}
                  ${by !== null && html`
                    Perhaps by ${onOneLine(by.event_type)} of <${Name} id=${by.actor} />,${" "}
                    <${Time} at=${by.at} />.
                    ${by.event_id !== null && html`
                      ${" "}<a href=${addressOf(`/audit/${by.event_id}`)}>Its row</a>
                    `}
                  `}
                </p>
              `}
            </li>
          `
        )}
      </ul>
    </section>
  `;
}
