import type {
  Outbound,
  OutboundError,
  OutboundRequest,
  OutboundResponse,
} from "../../core/ports.ts";

/** What a receiver in a test answers: a status, that with a body, or a failure. */
export type Reply = number | { readonly status: number; readonly body: string } | OutboundError;

/** The outside world of a test: remembers what was sent and answers as told. */
export class RecordedNetwork implements Outbound {
  readonly sent: OutboundRequest[] = [];
  reply: (request: OutboundRequest) => Reply = () => 204;

  request(request: OutboundRequest): Promise<OutboundResponse> {
    this.sent.push(request);
    const reply = this.reply(request);
    if (reply instanceof Error) return Promise.reject(reply);
    const { status, body } = typeof reply === "number" ? { status: reply, body: "" } : reply;
    return Promise.resolve({
      status,
      headers: {},
      bytes: new TextEncoder().encode(body),
      body,
      truncated: false,
    });
  }

  close(): void {}
}
