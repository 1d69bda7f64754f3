import {
  type Outbound,
  OutboundError,
  type OutboundRequest,
  type OutboundResponse,
} from "../../core/ports/ports.ts";

/** What a receiver in a test answers: a status, a whole answer, or a failure. */
export type Reply =
  | number
  | OutboundError
  | Partial<OutboundResponse> & { readonly status: number };

/** The timing of an answer whose phases nobody measured. */
export const UNTIMED = { resolve: null, connect: null, tls: null, first_byte: null };

/** The outside world of a test: remembers what was sent and answers as told. */
export class RecordedNetwork implements Outbound {
  readonly sent: OutboundRequest[] = [];
  /** Why a URL may not be dialled, for `check`; null when it may. */
  refuse: (url: string) => OutboundError | null = () => null;
  reply: (request: OutboundRequest) => Reply | Promise<Reply> = () => 204;

  async request(request: OutboundRequest): Promise<OutboundResponse> {
    this.sent.push(request);
    const reply = await this.reply(request);
    if (reply instanceof OutboundError) throw reply;
    const given = typeof reply === "number" ? { status: reply } : reply;
    const body = given.body ?? "";
    return {
      headers: {},
      bytes: new TextEncoder().encode(body),
      body,
      truncated: false,
      timing: UNTIMED,
      ...given,
    };
  }

  async check(url: string): Promise<void> {
    const refusal = this.refuse(url);
    if (refusal !== null) throw refusal;
  }

  close(): void {}
}
