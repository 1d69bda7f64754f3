import { z } from "zod";
import type { Stepping } from "../core/work/work.ts";
import { tailAudit } from "../core/events/trail/tail.ts";
import { READERS } from "../core/events/trail/export.ts";
import { runCommand } from "../core/commands/commands.ts";
import { AuditEvent, AuditTypes } from "../routes/audit.ts";
import { Command, CommandText, Timeout } from "../routes/commands.ts";
import { type Route, route } from "../routes/call/route.ts";
import { Id, PageLimit, wholeNumber } from "../routes/schemas/schemas.ts";
import { type Exchange, metaOf } from "./exchange.ts";
import { META_IDEMPOTENCY } from "./call_tool.ts";
import { reportProgress } from "./progress.ts";
import { inSession } from "./rpc.ts";
import type { Bind } from "./exchange.ts";

/** Tools that are no endpoints. */
export const extraTools: readonly Route[] = [
  route({
    id: "request.approval",
    method: "POST",
    path: "/mcp#request_approval",
    summary: "Ask people to approve a command, whatever the shield says of it",
    description: "The command runs once enough people have approved it; look at it with " +
      "get_command. A command that the shield denies is refused.",
    access: { scope: "agents:write" },
    effect: "steps",
    idempotencyKey: true,
    audit: { byRule: "approval_requested, or command_denied" },
    body: z.strictObject({
      agent_id: Id,
      command: CommandText,
      timeout: Timeout,
    }),
    success: { status: 202, body: Command },
    faults: ["AGENT_NOT_FOUND", "COMMAND_BLOCKED", "CONFLICT"],
    tool: { destructive: true },
    handle: (work, { body }) =>
      runCommand(work, {
        agentId: body.agent_id,
        command: body.command,
        timeoutMs: body.timeout * 1000,
        hold: true,
      }),
  }),
  route({
    id: "tail.events",
    method: "POST",
    path: "/mcp#tail_events",
    summary: "Events of the log from a cursor on, oldest first",
    description:
      "Without a cursor it answers the newest events. Call again with the cursor of the " +
      "answer to see what happened since: nothing is missed and nothing comes twice. A cursor that " +
      "the log does not reach, or whose next events are over their retention, is GONE, with the one " +
      "to go on from in `details.next`.",
    access: { scope: READERS },
    effect: "read",
    query: z.strictObject({
      cursor: wholeNumber(0, Number.MAX_SAFE_INTEGER).optional().meta({
        description: "The `cursor` of the answer before.",
      }),
      limit: PageLimit,
      event_type: AuditTypes.optional(),
      agent_id: Id.optional(),
    }),
    success: {
      status: 200,
      body: z.object({ events: z.array(AuditEvent), cursor: z.int(), has_more: z.boolean() }),
    },
    faults: ["GONE"],
    tool: { destructive: false },
    handle: (work, { query: { cursor, limit, ...filter } }) =>
      tailAudit(work, filter, { limit, after: cursor }),
  }),
];

interface ExecInput {
  readonly params: { readonly agent_id: string };
  readonly query: { readonly command: string; readonly timeout: number };
}

/** `run_command` tells what the command writes while it runs, and ends it when its client wants it no more. */
const bindRunCommand: Bind = (exchange: Exchange, declared: Route): Route => {
  const { app, actor, sink, session, id: requestId, server } = exchange;
  let unwanted = false;
  let id: string | null = null;
  const abandon = () => {
    unwanted = true;
    if (id !== null) app.commands.cancel(id, actor.id);
  };
  if (goingEnds(exchange)) sink?.onGone(abandon);
  const called = session && inSession(session.id, requestId);
  const handle = async (work: Stepping, { params, query }: ExecInput) => {
    const progress = reportProgress(exchange);
    let unfollow = () => {};
    if (called !== null) server.cancellations.set(called, abandon);
    try {
      return await runCommand(work, {
        agentId: params.agent_id,
        command: query.command,
        timeoutMs: query.timeout * 1000,
      }, (record) => {
        id = record.id;
        if (unwanted) abandon();
        progress.log({ command_id: record.id, status: record.status });
        unfollow = app.commands.follow(record.id, (_, data) => progress.write(data));
      });
    } finally {
      if (called !== null) server.cancellations.delete(called);
      unfollow();
      progress.end();
    }
  };
  return { ...declared, handle: handle as Route["handle"] };
};

/** Who sends a key means to come back, and older revisions say that going means nothing. */
function goingEnds(exchange: Exchange): boolean {
  const { era, info } = exchange;
  return era === "modern" && info.idempotencyKey === null &&
    metaOf(exchange)[META_IDEMPOTENCY] === undefined;
}

/** What is rebound at each call, by route. */
export const binds: Readonly<Record<string, Bind>> = { "commands.exec": bindRunCommand };
