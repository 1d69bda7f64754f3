import { useEffect, useRef, useState } from "preact/hooks";
import { call, type ReadApproval } from "../../../api.ts";
import { ChangeError, type Control, Field, useChange } from "../../../components/form.ts";
import { names } from "../../../components/names.ts";
import { onOneLine } from "../../../components/visible_text.ts";
import { html } from "htm/preact";
import { addKeys } from "../../../keys.ts";
import { addressOf } from "../../../router.ts";
import { me, readSession } from "../../../session.ts";

type Step = "approve" | "reject";

/** The decision, in two steps: what will happen is said before the button that does it. */
export function Decide({ approval, isSeen, again }: {
  readonly approval: ReadApproval;
  /** True once the whole command was in view. */
  readonly isSeen: boolean;
  readonly again: () => void;
}) {
  const { caller, pid, status } = approval;
  const change = useChange();
  const [step, setStep] = useState<Step | null>(null);
  const [reason, setReason] = useState("");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const heading = useRef<HTMLHeadingElement>(null);
  const mayApprove = caller.may_approve || caller.next === "confirm" || caller.next === "sign_in";
  const isOpen = status === "pending";
  useEffect(() => {
    if (!isOpen || !isSeen || step !== null) return;
    return addKeys([
      ...mayApprove ? [{ key: "a", about: "Approve…", run: () => setStep("approve") }] : [],
      ...caller.may_reject ? [{ key: "r", about: "Reject…", run: () => setStep("reject") }] : [],
    ]);
  }, [isOpen, isSeen, step, mayApprove, caller.may_reject]);
  useEffect(() => {
    if (step === null) return;
    heading.current?.focus({ preventScroll: true });
    heading.current?.closest("form")?.scrollIntoView({ block: "end" });
  }, [step]);
  if (!isOpen) return html`<${ChangeError} change=${change} />`;
  const forget = () => {
    setPassword("");
    setCode("");
  };
  const goBack = () => {
    forget();
    setStep(null);
  };
  const signsIn = step === "approve" && caller.next === "sign_in";
  const decide = async () => {
    const body = { ...reason !== "" && { reason } };
    if (step === "reject") await call("approvals.reject", { params: { pid }, body });
    else {
      if (signsIn) {
        await signIn(password, code);
        forget();
      }
      const own = caller.next !== null && { confirm_self_approval: true };
      await call("approvals.approve", { params: { pid }, body: { ...body, ...own } });
    }
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    const succeeded = await change.run(decide);
    again();
    if (!succeeded) return;
    setStep(null);
    document.querySelector<HTMLElement>("#main h1")?.focus({ preventScroll: true });
  };
  if (step === null) {
    return html`
      <section class="decide" aria-label="Decision">
        ${!mayApprove && caller.why_not !== null && html`<p>${caller.why_not}</p>`}
        ${caller.next === "change_password" && html`
          <p><a href=${addressOf("/settings")}>Change your password</a></p>
        `}
        ${!isSeen && (mayApprove || caller.may_reject) && html`
          <p class="warn">Read the command to its end first: scroll it down.</p>
        `}
        <div class="actions">
          ${mayApprove && html`
            <button type="button" class="primary" disabled=${!isSeen} onClick=${() =>
              setStep("approve")}>Approve…</button>
          `}
          ${caller.may_reject && html`
            <button type="button" disabled=${!isSeen} onClick=${() =>
              setStep("reject")}>Reject…</button>
          `}
        </div>
      </section>
    `;
  }
  const isApproval = step === "approve";
  return html`
    <form class="decide step" aria-label="Decision" onSubmit=${submit}
      onKeyDown=${(event: KeyboardEvent) => event.key === "Escape" && goBack()}>
      <h2 ref=${heading} tabindex="-1">${isApproval
        ? "Approve this command?"
        : "Reject this command?"}</h2>
      <p>${isApproval ? effectOf(approval) : REJECTED}</p>
      ${isApproval && caller.next !== null && html`<p class="warn">${OWN}</p>`}
      <${Field} label="Reason" hint="It stays on record, and whoever asked can read it.">${(
        control: Control,
      ) =>
        html`
          <textarea ...${control} rows="2" maxlength="1000" value=${reason}
            onInput=${(event: Event) =>
              setReason((event.target as HTMLTextAreaElement).value)}></textarea>
        `}<//>
      ${signsIn && html`
        <${Field} label="Your password"
          hint="Your sign-in is older than the request, so confirm that it is you.">${(
            control: Control,
          ) =>
            html`
              <input ...${control} type="password" autocomplete="current-password" required value=${password}
                onInput=${(event: Event) =>
                  setPassword((event.target as HTMLInputElement).value)} />
            `}<//>
        <${Field} label="Code of the second factor" hint="If you have one.">${(control: Control) =>
          html`
            <input ...${control} inputmode="numeric" autocomplete="one-time-code" value=${code}
              onInput=${(event: Event) => setCode((event.target as HTMLInputElement).value)} />
          `}<//>
      `}
      <${ChangeError} change=${change} />
      <div class="actions">
        <button type="submit" class=${isApproval ? "primary" : "danger"} disabled=${change.isBusy}>
          ${isApproval ? confirmOf(approval) : "Reject it"}
        </button>
        <button type="button" onClick=${goBack}>Back</button>
      </div>
    </form>
  `;
}

const REJECTED = "The command never runs. One rejection ends the request for everybody.";
const OWN = "This is your own request. You are the only member, so you may confirm it; the audit " +
  "log shows it as self-approved.";

const approvalsOf = ({ decisions }: ReadApproval): number =>
  decisions.filter(({ decision }) => decision === "approved").length;

const targetOf = ({ agent_id, agents }: ReadApproval): string =>
  agent_id === null ? `${agents?.count} agents` : onOneLine(names.value.get(agent_id) ?? agent_id);

/** True when one more approval sends the command. */
const isLast = (approval: ReadApproval): boolean => approvalsOf(approval) + 1 >= approval.required;

const confirmOf = (approval: ReadApproval): string =>
  isLast(approval) ? `Approve and run on ${targetOf(approval)}` : "Give my approval";

/** What an approval does, in words. */
function effectOf(approval: ReadApproval): string {
  const { command, required } = approval;
  const given = approvalsOf(approval) + 1;
  const bytes = new TextEncoder().encode(command).length.toLocaleString();
  const what = `The command above, all ${bytes} bytes of it,`;
  if (isLast(approval)) return `${what} runs on ${targetOf(approval)} at once, and at most once.`;
  return `Yours is approval ${given} of ${required}. ${what} runs on ${targetOf(approval)} once ` +
    "all have been given.";
}

/** Shows that the person is here, as the approval of one's own request takes. */
async function signIn(password: string, code: string): Promise<void> {
  const { email } = me.value!.user;
  await call("console_session.begin", { body: { email, password, ...code !== "" && { code } } });
  await readSession();
}
