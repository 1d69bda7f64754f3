import { type Approval, call } from "../../../api.ts";
import { Name } from "../../../components/names.ts";
import { TimeLeft } from "../../../components/time.ts";
import { onOneLine } from "../../../components/visible_text.ts";
import { useData } from "../../../data.ts";
import { html } from "htm/preact";
import { addressOf } from "../../../router.ts";
import { may, me } from "../../../session.ts";
import { Card } from "./card.ts";

const SHOWN = 5;

interface Waiting {
  readonly total: number;
  /** The oldest ones, oldest first. */
  readonly oldest: readonly Approval[];
}

async function readWaiting(signal: AbortSignal): Promise<Waiting> {
  const { approvals, pagination } = await call("approvals.list", {
    query: { status: "pending", order: "oldest", limit: SHOWN },
    signal,
  });
  return { total: pagination.total, oldest: approvals };
}

/** The commands that wait for approval, and for whom. */
export function WaitingCard() {
  const waiting = useData(readWaiting, [], { types: ["approval"] });
  return html`
    <${Card} title="Waiting for approval" to="/approvals" data=${waiting}>${(
      { total, oldest }: Waiting,
    ) =>
      total === 0 ? html`<p class="soft">Nothing waits.</p>` : html`
        <ul class="lines">
          ${oldest.map((approval) => html`<${Line} key=${approval.pid} approval=${approval} />`)}
        </ul>
        ${total > SHOWN && html`
          <p><a href=${addressOf("/approvals")}>${total - SHOWN} more</a></p>
        `}
      `}<//>
  `;
}

function Line({ approval }: { readonly approval: Approval }) {
  const { pid, agent_id, agents, command, expires_at } = approval;
  return html`
    <li>
      <a href=${addressOf(`/approvals/${pid}`)}><code>${onOneLine(command)}</code></a>
      <span class="soft">
        ${agent_id === null
          ? `${agents?.count ?? 0} agents`
          : html`<${Name} id=${agent_id} />`},${" "}
        ${whoDecides(approval)}, <${TimeLeft} until=${expires_at} after=" left" />
      </span>
    </li>
  `;
}

/** Who the request waits for, as seen by the viewer. The request's own screen says why. */
function whoDecides({ decisions, requested_by, roles }: Approval): string {
  const { id, roles: own } = me.value!.user;
  if (decisions.some(({ user_id }) => user_id === id)) return "you have decided";
  if (requested_by === id) return "you asked";
  const isDecider = roles.length === 0 || roles.some((role) => own.includes(role));
  return may("approvals:write") && isDecider ? "waits for you" : "waits for others";
}
