import { faultOf } from "../../routes/call/fault_of.ts";
import type { Visit } from "../../routes/http/serve_service.ts";
import type { Exchange, Method } from "../exchange.ts";
import { response } from "../json_rpc.ts";
import { type Result, writeResult } from "../result.ts";
import { openStream, streamResponse } from "./event_stream.ts";
import { refusalText } from "./refusal.ts";

/** How often the caller is authenticated again: within 1 s of losing its rights it gets nothing more. */
const CHECK_MS = 500;

/**
 * Answers by a stream: notifications while the method runs, then its result. The stream ends early with an
 * error once the caller may no longer have the answer.
 */
export function answerByStream(
  visit: Visit,
  method: Method,
  base: Exchange,
  run: (method: Method, exchange: Exchange) => Result | Promise<Result>,
): Response {
  const { clock } = base.relay.ports;
  const stream = openStream(base.relay);
  const exchange = { ...base, sink: stream };
  const check = async () => {
    const text = await refusalNow(visit, method, base);
    if (text !== null) stream.end(text);
    else if (stream.open) cancelCheck = clock.after(CHECK_MS, check);
  };
  let cancelCheck = clock.after(CHECK_MS, check);
  stream.onGone(() => cancelCheck());
  const answer = async () => {
    try {
      return response(base.id, writeResult(exchange, await run(method, exchange)));
    } catch (error) {
      return refusalText(visit, error, base.id).text;
    }
  };
  answer().then((text) => {
    cancelCheck();
    stream.end(text);
  });
  return streamResponse(visit, stream);
}

/** The error for a caller who lost the right to the answer; null for others, and when the check itself failed. */
async function refusalNow(visit: Visit, method: Method, base: Exchange): Promise<string | null> {
  try {
    await method.admit?.({ ...base, actor: await visit.identifyAgain() });
    return null;
  } catch (error) {
    const status = faultOf(error)?.status;
    if (status === 401 || status === 403) return refusalText(visit, error, base.id).text;
    visit.relay.ports.log.warn("a caller could not be checked", { error: String(error) });
    return null;
  }
}
