import { useEffect, useRef, useState } from "preact/hooks";
import { call } from "../../api.ts";
import { html } from "htm/preact";
import { followOutput } from "../../live/live.ts";
import { OutputBuffer } from "../../output_buffer.ts";
import { saveAs } from "../../save.ts";
import { ChangeError, useChange } from "../form.ts";

/** How a command ended, as its output says. */
export interface OutputEnd {
  readonly status: string;
  readonly exit_code: number | null;
  readonly signal: string | null;
  readonly truncated: boolean;
  readonly reason: string | null;
  readonly duration_ms: number | null;
}

interface OutputProps {
  readonly agentId: string;
  readonly commandId: string;
  /** What it is the output of, for screen readers. */
  readonly label: string;
  /** Called with each new state: `pending_approval`, `queued`, `running`. */
  readonly onStatus?: (status: string, approvalId: string | null) => void;
  readonly onEnd?: (end: OutputEnd) => void;
}

/** Distance from the end, in pixels, within which the view follows new lines. */
const NEAR_PX = 24;

/** A command's output as a terminal shows it, live, from its beginning to its end. */
export function Output({ agentId, commandId, label, onStatus, onEnd }: OutputProps) {
  const pane = useRef<HTMLDivElement>(null);
  const [state, setState] = useState(BEGINNING);
  const listeners = useRef({ onStatus, onEnd });
  listeners.current = { onStatus, onEnd };
  useEffect(() => {
    setState(BEGINNING);
    const buffer = new OutputBuffer();
    const draw = drawer(pane.current!, buffer, () => {
      const isEmpty = buffer.blocks.length === 0;
      setState((now) =>
        now.isEmpty === isEmpty && now.dropped === buffer.dropped
          ? now
          : { ...now, isEmpty, dropped: buffer.dropped }
      );
    });
    const stop = followOutput({ agentId, commandId, from: 0 }, (message) => {
      if (message.type === "status") {
        const { status, approval_id } = message.data as Shown;
        setState((now) => ({ ...now, status }));
        listeners.current.onStatus?.(status, approval_id ?? null);
      } else if (message.type === "output") {
        buffer.add(message.data.stream, message.data.data);
        draw.soon();
      } else {
        buffer.end();
        draw.soon();
        const error = message.type === "refused" ? message.data.message : null;
        const isCut = message.type === "result" && message.data.truncated === true;
        setState((now) => ({ ...now, hasEnded: true, error, isCut }));
        if (message.type === "result") {
          listeners.current.onEnd?.(message.data as unknown as OutputEnd);
        }
      }
    });
    return () => {
      stop();
      draw.cancel();
    };
  }, [agentId, commandId]);
  const { dropped, error, hasEnded, isCut, isEmpty, status } = state;
  return html`
    <div class="output">
      ${dropped > 0 && html`
        <p class="soft">The first ${dropped
          .toLocaleString()} lines are not shown; they are in the download.</p>
      `}
      <div
        ref=${pane} class="terminal" role="region" aria-label=${label} aria-live="off" tabindex="0"
        hidden=${isEmpty}
      ></div>
      ${isEmpty && html`<p class="terminal soft">${
        EMPTY[status] ??
          (hasEnded ? "No output." : "No output yet.")
      }</p>`}
      ${error !== null && html`<p class="bad" role="alert">${error}</p>`}
      ${isCut &&
        html`<p class="warn">This is only a part of the output; the rest was not kept.</p>`}
      ${!isEmpty && html`<${Download} agentId=${agentId} commandId=${commandId} />`}
    </div>
  `;
}

interface Shown {
  readonly status: string;
  readonly approval_id?: string | null;
}

const BEGINNING = {
  status: "",
  isEmpty: true,
  dropped: 0,
  hasEnded: false,
  isCut: false,
  error: null as string | null,
};

const EMPTY: Readonly<Record<string, string>> = {
  pending_approval: "Waits for approval.",
  queued: "Waits for its agent.",
};

/** Draws a buffer into an element, at most once a frame. Only what changed is touched, since output may be long. */
function drawer(pane: HTMLElement, buffer: OutputBuffer, drawn: () => void) {
  const shown = new Map<number, { readonly element: HTMLElement; lines: number; chars: number }>();
  let frame = 0;
  const draw = () => {
    frame = 0;
    const follows = pane.scrollHeight - pane.scrollTop - pane.clientHeight < NEAR_PX;
    // Shown before it is measured.
    pane.hidden = buffer.blocks.length === 0;
    const first = buffer.blocks[0]?.id ?? 0;
    for (const [id, { element }] of shown) {
      if (id >= first) break;
      element.remove();
      shown.delete(id);
    }
    for (const { id, lines, source, text } of buffer.blocks) {
      const known = shown.get(id);
      if (known?.lines === lines && known.chars === text.length) continue;
      const element = known?.element ?? document.createElement("div");
      element.className = source;
      element.textContent = text === "" ? "\n" : text;
      if (known === undefined) pane.append(element);
      shown.set(id, { element, lines, chars: text.length });
    }
    if (follows) pane.scrollTop = pane.scrollHeight;
    drawn();
  };
  pane.textContent = "";
  return {
    soon: () => frame ||= requestAnimationFrame(draw),
    cancel: () => cancelAnimationFrame(frame),
  };
}

/** Saves all of a command's output, byte for byte. */
function Download({ agentId, commandId }: Pick<OutputProps, "agentId" | "commandId">) {
  const change = useChange();
  const save = () =>
    change.run(async () => {
      const params = { id: agentId, command_id: commandId };
      const parts: string[] = [];
      for (let from = 0, complete = false; !complete;) {
        const page = await call("commands.output", { params, query: { from } });
        for (const { data } of page.chunks) parts.push(data);
        complete = page.complete || page.next_offset === from;
        from = page.next_offset;
      }
      saveAs(`${commandId}.txt`, parts);
    });
  return html`
    <div class="actions">
      <button type="button" disabled=${change.isBusy} onClick=${save}>Download output</button>
      <${ChangeError} change=${change} />
    </div>
  `;
}
