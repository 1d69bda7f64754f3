import { call } from "../../../api.ts";
import { space } from "../../../space.ts";
import { html } from "htm/preact";
import { addressOf } from "../../../router.ts";
import { may, me } from "../../../session.ts";

/** What a new organization has so far. */
export interface Progress {
  readonly hasAgent: boolean;
  readonly hasCommand: boolean;
  readonly hasOthers: boolean;
}

/** Reads how far the organization is; null for people who do not set it up. */
export async function readProgress(signal: AbortSignal): Promise<Progress | null> {
  if (!may("agents:admin") || !may("agents:read")) return null;
  const query = { limit: 1 };
  const [agents, commands] = await Promise.all([
    call("agents.list", { query, signal }),
    call("commands.list", { query, signal }),
  ]);
  const hasAgent = agents.pagination.total > 0, hasCommand = commands.commands.length > 0;
  const isSetUp = hasAgent && hasCommand;
  return { hasAgent, hasCommand, hasOthers: isSetUp || await hasOthers(signal) };
}

async function hasOthers(signal: AbortSignal): Promise<boolean> {
  if (!may("system:read") || space.value === "test") return false;
  const query = { limit: 1 };
  const [people, invitations] = await Promise.all([
    call("users.list", { query, signal }),
    call("invitations.list", { query, signal }),
  ]);
  return people.pagination.total > 1 || invitations.pagination.total > 0;
}

/** True once the guide has nothing more to say. */
export const isSetUp = ({ hasAgent, hasCommand }: Progress): boolean => hasAgent && hasCommand;

interface Step {
  readonly title: string;
  readonly about: string;
  readonly isDone: boolean;
  readonly button: string | null;
  readonly to: string;
}

/** The test space has no people of its own, so its steps are about machines and commands. */
function stepsOf(progress: Progress): readonly Step[] {
  const steps = allSteps(progress);
  return space.value === "test" ? steps.slice(1, 3) : steps;
}

function allSteps({ hasAgent, hasCommand, hasOthers }: Progress): readonly Step[] {
  return [
    {
      title: "Name your organization",
      about: `It is called ${me.value!.organization.name}.`,
      isDone: true,
      button: null,
      to: "/settings",
    },
    {
      title: "Pair the first machine",
      about: hasAgent
        ? "It is here."
        : "One line to paste on the machine. It takes about a minute, and this machine will do.",
      isDone: hasAgent,
      button: "Add a machine",
      to: "/agents/add",
    },
    {
      title: "Run the first command",
      about: "The shield says what it thinks of a command while you type. Try uname -a.",
      isDone: hasCommand,
      button: may("agents:write") && hasAgent ? "Run a command" : null,
      to: "/run",
    },
    {
      title: "Invite somebody",
      about: hasOthers
        ? "An invitation is out, or accepted."
        : "A risky command waits until somebody else approves it.",
      isDone: hasOthers,
      button: may("system:write") ? "Invite somebody" : null,
      to: "/people",
    },
  ];
}

/** The way from a new organization to its first command. Each step turns green when it is done, wherever that was. */
export function FirstRun({ progress }: { readonly progress: Progress }) {
  const steps = stepsOf(progress);
  const next = steps.find(({ isDone }) => !isDone);
  return html`
    <section class="card first-run">
      <h2>First steps</h2>
      <ol>
        ${steps.map((step) =>
          html`
            <li class=${step.isDone ? "done" : ""} aria-current=${step === next
              ? "step"
              : undefined}>
              <div>
                <h3>${step.title}${step.isDone && html`
                  <span class="unseen">is done</span>
                `}</h3>
                <p>${step.about}</p>
              </div>
              ${!step.isDone && step.button !== null && html`
                <a class=${step === next ? "button primary" : "button"} href=${addressOf(step.to)}>
                  ${step.button}
                </a>
              `}
            </li>
          `
        )}
      </ol>
    </section>
  `;
}
