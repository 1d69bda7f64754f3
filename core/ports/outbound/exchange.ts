import type { Buffer } from "node:buffer";
import { setImmediate } from "node:timers";

import { OutboundError, type OutboundRequest, type OutboundResponse } from "../interfaces.ts";
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
  { url, pool, deadlines }: { url: URL; pool: Pool; deadlines: Deadlines },
): Promise<OutboundResponse> {
  const head = headOf(request, url);
  const to = { url, organization: request.organization };
  return await new Promise((resolve, reject) => {
    const reader = new ResponseReader(request.method, request.keepBytes);
    let settled = false, repeatable = request.repeatable ?? false;
    /** Settles the exchange once; without a reason the response is complete. */
    const settle = (reason: Error | null) => {
      if (settled) return;
      settled = true;
      cancel();
      const { connection } = holder;
      if (reader.hasHead) resolve(responseOf(reader, reason !== null));
      else reject(classifyFailure(reason, connection?.phase ?? "connect"));
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
        writeRequest(this.connection!.socket, head, request.body);
      },
      received(bytes: Buffer) {
        // Bytes after the response are unrequested.
        if (settled) return pool.leave(to, this);
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

function responseOf(reader: ResponseReader, truncated: boolean): OutboundResponse {
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
  };
}

function timedOut(deadlineMs: number, phase: Phase): OutboundError {
  const missing = { connect: "connection", tls: "TLS handshake", http: "response head" }[phase];
  return new OutboundError("timeout", `No ${missing} within ${deadlineMs} ms.`);
}
