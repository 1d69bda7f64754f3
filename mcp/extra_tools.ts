import { z } from "zod";
import type { CommandRecord } from "../kv/records/command.ts";
import type { Stepping } from "../core/work/work.ts";
import { READERS, tailAudit } from "../core/events/events.ts";
import { abandonCommand, runCommand } from "../core/agents/agents.ts";
import { AuditEvent, AuditTypes } from "../routes/audit.ts";
import { Command, CommandText, Timeout } from "../routes/commands.ts";
import { type Route, route } from "../routes/call/route.ts";
import {
  AgentFilter,
  AgentRef,
  AlertId,
  PageLimit,
  Thread,
  wholeNumber,
} from "../routes/schemas/schemas.ts";
import { META_IDEMPOTENCY } from "./call_tool.ts";
import type { Bind, Exchange } from "./exchange.ts";
import { inSession } from "./json_rpc.ts";
import { metaOf } from "./params.ts";
import { reportProgress } from "./progress.ts";

/** Tools that are not endpoints of the HTTP interface. */
export const extraTools: readonly Route[] = [
  route({
    id: "request.approval",
    method: "POST",
    path: "/mcp#request_approval",
    summary: "Request approval for a command, whatever the shield's verdict",
    description:
      "The command runs once enough people have approved it; read it with get_command. A " +
      "command that the shield denies is refused.",
    access: { scope: "agents:write" },
    effect: "steps",
    idempotencyKey: true,
    audit: { byRule: "approval_requested, or command_denied" },
    agent: "agent_id",
    body: z.strictObject({
      agent_id: AgentRef,
      command: CommandText,
      timeout: Timeout,
      alert_id: AlertId.optional(),
    }),
    success: { status: 202, body: Command },
    faults: ["AGENT_NOT_FOUND", "NOT_FOUND", "COMMAND_BLOCKED", "CONFLICT"],
    tool: { name: "request_approval", destructive: true, common: true },
    handle: (work, { body }, relay) =>
      runCommand(work, relay, {
        agentId: body.agent_id,
        command: body.command,
        timeoutMs: body.timeout * 1000,
        alertId: body.alert_id,
        hold: true,
      }),
  }),
  route({
    id: "tail.events",
    method: "POST",
    path: "/mcp#tail_events",
    summary: "List events of the log, oldest first",
    description:
      "Without a cursor it returns the newest events. Call again with the returned cursor to " +
      "get the events since then, each exactly once. If the cursor is beyond the end of the " +
      "log, or the next events are past their retention, the error is GONE and `details.next` " +
      "holds the cursor to continue from.",
    access: { scope: READERS },
    effect: "read",
    query: z.strictObject({
      cursor: wholeNumber(0, Number.MAX_SAFE_INTEGER).optional().meta({
        description: "The `cursor` of the previous response.",
      }),
      limit: PageLimit,
      event_type: AuditTypes.optional(),
      agent_id: AgentFilter.optional(),
      thread: Thread.optional(),
    }),
    agent: "agent_id",
    success: {
      status: 200,
      body: z.object({ events: z.array(AuditEvent), cursor: z.int(), has_more: z.boolean() }),
    },
    faults: ["AGENT_NOT_FOUND", "GONE"],
    tool: { name: "tail_events", destructive: false, common: true },
    handle: (work, { query: { cursor, limit, ...filter } }) =>
      tailAudit(work, filter, { limit, after: cursor }),
  }),
];

interface ExecInput {
  readonly params: { readonly agent_id: string };
  readonly query: {
    readonly command: string;
    readonly timeout: number;
    readonly alert_id?: string;
  };
}

/** Lets `run_command` send its output while it runs, and cancels the command when the client gives up. */
const bindRunCommand: Bind = (exchange: Exchange, declared: Route): Route => {
  const { relay, actor, sink, session, id: requestId, server } = exchange;
  let abandoned = false;
  let begun: CommandRecord | null = null;
  const abandon = () => {
    abandoned = true;
    const command = begun;
    if (command === null) return;
    relay.background.run(
      "cancelling an abandoned command",
      () => abandonCommand(relay, actor.tenant, command, actor.id),
    );
  };
  if (leavingCancels(exchange)) sink?.onGone(abandon);
  const called = session && inSession(session.id, requestId);
  const handle = async (work: Stepping, { params, query }: ExecInput) => {
    const progress = reportProgress(exchange);
    let unfollow = () => {};
    if (called !== null) server.cancellations.set(called, abandon);
    try {
      return await runCommand(work, relay, {
        agentId: params.agent_id,
        command: query.command,
        timeoutMs: query.timeout * 1000,
        alertId: query.alert_id,
      }, (record) => {
        begun = record;
        if (abandoned) abandon();
        progress.log({ command_id: record.id, status: record.status });
        if (!progress.wantsOutput) return;
        unfollow = relay.liveOutput.follow(actor.tenant, record, (text) => progress.write(text));
      });
    } finally {
      if (called !== null) server.cancellations.delete(called);
      unfollow();
      progress.end();
    }
  };
  return { ...declared, handle: handle as Route["handle"] };
};

/** True when a disconnect cancels the call: in the current revision, and without an idempotency key for a retry. */
function leavingCancels(exchange: Exchange): boolean {
  const { era, info } = exchange;
  return era === "modern" && info.idempotencyKey === null &&
    metaOf(exchange)[META_IDEMPOTENCY] === undefined;
}

/** The routes that are replaced at each call, by id. */
export const binds: Readonly<Record<string, Bind>> = { "commands.exec": bindRunCommand };
