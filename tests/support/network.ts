import type {
  Outbound,
  OutboundError,
  OutboundRequest,
  OutboundResponse,
} from "../../core/ports.ts";

/** What a receiver in a test answers: a status, or a failure. */
export type Reply = number | OutboundError;

/** The outside world of a test: remembers what was sent and answers as told. */
export class RecordedNetwork implements Outbound {
  readonly sent: OutboundRequest[] = [];
  reply: (request: OutboundRequest) => Reply = () => 204;

  request(request: OutboundRequest): Promise<OutboundResponse> {
    this.sent.push(request);
    const reply = this.reply(request);
    if (typeof reply !== "number") return Promise.reject(reply);
    return Promise.resolve({
      status: reply,
      headers: {},
      bytes: new Uint8Array(),
      body: "",
      truncated: false,
    });
  }

  close(): void {}
}
