import { idsOf } from "../../core/identity/identity.ts";
import { faultOf } from "../../routes/call/fault_of.ts";
import type { Visit } from "../../routes/http/serve_service.ts";
import type { Exchange, Method } from "../exchange.ts";
import { response } from "../json_rpc.ts";
import { type Result, writeResult } from "../result.ts";
import { openStream, streamResponse } from "./event_stream.ts";
import { refusalText } from "./refusal.ts";

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
  const stream = openStream(base.relay);
  const exchange = { ...base, sink: stream };
  const cancelChecks = base.server.rechecks.add(async () => {
    const now = await callerNow(visit, method, base);
    if (typeof now !== "string") return now;
    cancelChecks();
    stream.end(now);
    return null;
  });
  stream.onGone(cancelChecks);
  const answer = async () => {
    try {
      return response(base.id, writeResult(exchange, await run(method, exchange)));
    } catch (error) {
      return refusalText(visit, error, base.id).text;
    }
  };
  answer().then((text) => {
    cancelChecks();
    stream.end(text);
  });
  return streamResponse(visit, stream);
}

/** The caller now, or the error for one who lost the right to the answer; null while that cannot be found out. */
async function callerNow(visit: Visit, method: Method, base: Exchange) {
  try {
    const actor = await visit.identifyAgain();
    await method.admit?.({ ...base, actor });
    return actor;
  } catch (error) {
    const status = faultOf(error)?.status;
    if (status === 401 || status === 403) return refusalText(visit, error, base.id).text;
    visit.relay.ports.log.warn("a caller could not be checked", {
      ...idsOf(visit.info),
      error: String(error),
    });
    return null;
  }
}
