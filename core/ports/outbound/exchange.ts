import type { Buffer } from "node:buffer";
import { setImmediate } from "node:timers";

import {
  type Clock,
  OutboundError,
  type OutboundRequest,
  type OutboundResponse,
  type Timing,
} from "../interfaces.ts";
import type { Deadlines } from "./deadlines.ts";
import { classifyFailure, type Phase } from "./failure.ts";
import type { Connection, Holder, Pool } from "./pool.ts";
import { ResponseReader } from "./reader.ts";
import { headOf, writeRequest } from "./writer.ts";

/**
 * Sends one request over a socket of `pool`. A repeatable request is sent again when a reused socket closes
 * before any response. Rejects when no response head arrives before the deadline; a slow, endless or broken body
 * is truncated.
 * @throws {OutboundError}
 */
export async function exchange(
  request: OutboundRequest,
  { url, pool, deadlines, clock }: {
    url: URL;
    pool: Pool;
    deadlines: Deadlines;
    clock: Pick<Clock, "now">;
  },
): Promise<OutboundResponse> {
  const head = headOf(request, url);
  const to = { url, organization: request.organization };
  return await new Promise((resolve, reject) => {
    const reader = new ResponseReader(request.method, request.keepBytes);
    let settled = false, repeatable = request.repeatable ?? false;
    let sentMs: number | null = null, answeredMs: number | null = null;
    /** Settles the exchange once; without a reason the response is complete. */
    const settle = (reason: Error | null) => {
      if (settled) return;
      settled = true;
      cancel();
      const { connection } = holder;
      const timing = timingOf(url, connection, sentMs, answeredMs);
      if (reader.hasHead) resolve(responseOf(reader, reason !== null, timing));
      else reject(failureOf(reason, connection, timing));
      if (reason !== null || connection === null || !reader.isReusable) pool.leave(to, holder);
      else if (connection.socket.writableLength === 0) pool.giveBack(to, connection, reader.idleMs);
      else setImmediate(() => giveBackWritten(connection));
    };
    /** TLS reports late that all is written; a receiver that has not read by then loses the socket. */
    const giveBackWritten = (connection: Connection) => {
      const { destroyed, writableLength } = connection.socket;
      if (destroyed || writableLength > 0) pool.leave(to, holder);
      else pool.giveBack(to, connection, reader.idleMs);
    };
    const holder: Holder = {
      connection: null,
      opened() {
        sentMs = clock.now();
        writeRequest(this.connection!.socket, head, request.body);
      },
      received(bytes: Buffer) {
        // Bytes after the response are unrequested.
        if (settled) return pool.leave(to, this);
        answeredMs ??= clock.now();
        try {
          reader.take(bytes);
        } catch (error) {
          return settle(error as Error);
        }
        if (reader.overflows) settle(new Error("the body is larger than the limit"));
        else if (reader.isWhole) settle(null);
      },
      ended(error) {
        if (repeatable && !settled && this.connection?.used && reader.isUntouched) {
          repeatable = false;
          return pool.dial(to, this);
        }
        if (error === null) reader.end();
        settle(
          reader.isWhole ? null : error ?? new Error("the connection closed without a response"),
        );
      },
    };
    const cancel = deadlines.after(
      request.deadlineMs,
      () => settle(timedOut(request.deadlineMs, holder.connection?.phase ?? "connect")),
    );
    pool.take(to, holder);
  });
}

/** A reused connection was opened by an earlier exchange. */
function timingOf(
  { protocol }: URL,
  connection: Connection | null,
  sentMs: number | null,
  answeredMs: number | null,
): Timing {
  const { begunMs = null, resolvedMs = null, connectedMs = null, openMs = null } =
    connection?.used === false ? connection.times : {};
  const between = (from: number | null, to: number | null) =>
    from === null || to === null ? null : to - from;
  return {
    resolve: between(begunMs, resolvedMs),
    connect: between(resolvedMs ?? begunMs, connectedMs),
    tls: protocol === "https:" ? between(connectedMs, openMs) : null,
    first_byte: between(sentMs, answeredMs),
  };
}

const failureOf = (reason: Error | null, connection: Connection | null, timing: Timing) =>
  Object.assign(classifyFailure(reason, connection?.phase ?? "connect"), { timing });

function responseOf(
  reader: ResponseReader,
  truncated: boolean,
  timing: Timing,
): OutboundResponse {
  const { status, headers, bytes } = reader;
  return {
    status,
    headers,
    bytes,
    get body() {
      // Drop a character that was cut at the end, instead of showing a replacement character.
      if (bytes.length === 0) return "";
      return new TextDecoder().decode(bytes, { stream: truncated });
    },
    truncated,
    timing,
  };
}

function timedOut(deadlineMs: number, phase: Phase): OutboundError {
  const missing = { connect: "connection", tls: "TLS handshake", http: "response head" }[phase];
  return new OutboundError("timeout", `No ${missing} within ${deadlineMs} ms.`);
}
