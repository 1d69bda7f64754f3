import { useEffect, useState } from "preact/hooks";
import { call, type ReadApproval } from "../../api.ts";
import { Badge } from "../../components/badge.ts";
import { ExactCommand } from "../../components/exact_command.ts";
import { Name, useNames } from "../../components/names.ts";
import { Failure, Loading } from "../../components/states.ts";
import { ExactTime, Time, TimeLeft } from "../../components/time.ts";
import { Verdict } from "../../components/verdict.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { addressOf } from "../../router.ts";
import { About } from "./approval/about.ts";
import { Decide } from "./approval/decide.ts";
import { Result } from "./approval/result.ts";
import { Votes } from "./approval/votes.ts";

/** One request for approval: all that a decision needs, the decision, and what came of it. */
export default function ApprovalScreen({ id = "" }: Readonly<Record<string, string>>) {
  useNames();
  const { data, error, again } = useData(
    (signal) => call("approvals.get", { params: { pid: id }, signal }),
    [id],
    { types: ["approval"], id },
  );
  if (data === null) {
    return error === null ? html`<${Loading} />` : html`
      <h1>Approval</h1>
      <${Failure} error=${error} again=${again} />
    `;
  }
  return html`
    ${error !== null && html`<${Failure} error=${error} again=${again} />`}
    <${Shown} key=${id} approval=${data} again=${again} />
  `;
}

function Shown(
  { approval, again }: { readonly approval: ReadApproval; readonly again: () => void },
) {
  const { command, command_sha256, shield_result, status } = approval;
  const [isSeen, setSeen] = useState(false);
  useEndOfTime(approval, again);
  return html`
    <div class="title">
      <h1 tabindex="-1">${TITLES[status]}</h1>
      <a href=${addressOf("/approvals")}>All approvals</a>
    </div>
    <${Deadline} approval=${approval} />
    <div class="cards two">
      <section class="card whole">
        <h2>The whole command</h2>
        <${ExactCommand}
          text=${command} span=${shield_result.span} sha256=${command_sha256}
          onSeen=${() => setSeen(true)}
        />
      </section>
      <section class="card">
        <h2>Why it is held</h2>
        <${Verdict} result=${shield_result} />
      </section>
      <${About} approval=${approval} />
      <${Votes} approval=${approval} />
    </div>
    <${Decide} approval=${approval} isSeen=${isSeen} again=${again} />
    <${Result} approval=${approval} />
  `;
}

const TITLES = {
  pending: "Waits for approval",
  approved: "Approved",
  rejected: "Rejected",
  expired: "Expired",
} as const;

/** The time left, or who ended it and when. */
function Deadline({ approval }: { readonly approval: ReadApproval }) {
  const { status, created_at, decisions, expires_at, resolved_at } = approval;
  const last = decisions.findLast(({ decision }) => decision === status);
  return html`
    <p class="deadline" role="status">
      <${Badge} state=${status} />${" "}
      ${status === "pending"
        ? html`
          <strong><${TimeLeft} until=${expires_at} after=" left" /></strong>, asked <${Time}
            at=${created_at} />
        `
        : html`${
          last && html`
            by <${Name} id=${last.user_id} />,
          `
        }<${ExactTime} at=${resolved_at ?? expires_at} />`}
    </p>
  `;
}

/** Fetches again when the time is up, since nothing changes in the store at that moment. */
function useEndOfTime({ status, expires_at }: ReadApproval, again: () => void): void {
  useEffect(() => {
    const ms = Date.parse(expires_at) - Date.now();
    if (status !== "pending" || ms <= 0) return;
    const timer = setTimeout(again, Math.min(ms + 1_000, 2 ** 31 - 1));
    return () => clearTimeout(timer);
  }, [status, expires_at]);
}
