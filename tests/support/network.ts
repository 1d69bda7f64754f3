import type {
  Outbound,
  OutboundError,
  OutboundRequest,
  OutboundResponse,
} from "../../core/ports.ts";

/** What a receiver in a test answers: a status, a whole answer, or a failure. */
export type Reply = number | OutboundError | {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
};

/** The outside world of a test: remembers what was sent and answers as told. */
export class RecordedNetwork implements Outbound {
  readonly sent: OutboundRequest[] = [];
  reply: (request: OutboundRequest) => Reply | Promise<Reply> = () => 204;

  async request(request: OutboundRequest): Promise<OutboundResponse> {
    this.sent.push(request);
    const reply = await this.reply(request);
    if (reply instanceof Error) throw reply;
    const { status, headers = {}, body = "" } = typeof reply === "number"
      ? { status: reply }
      : reply;
    return { status, headers, bytes: new TextEncoder().encode(body), body, truncated: false };
  }

  close(): void {}
}
