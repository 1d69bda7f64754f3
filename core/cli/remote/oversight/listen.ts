import { Buffer } from "node:buffer";
import { systemEntropy } from "../../../ports/ports.ts";
import { UsageError } from "../../arguments.ts";
import type { Run } from "../command.ts";
import { listenLoop } from "./listen_loop.ts";

const SECRET_BYTES = 24;

/** `relay listen`: runs until Ctrl-C, or until the relay refuses. */
export const listen: Run = async ({ relay, target, text, list, number, host, out }) => {
  const forward = text("forward");
  if (forward === undefined) throw new UsageError("The target is missing: give --forward.");
  if (!isHttp(forward)) {
    throw new UsageError(`The address "${forward}" is not an http or https address.`);
  }
  const since = number("since") ?? null;
  const secret = text("secret") ?? (host.env["RELAY_WEBHOOK_SECRET"] || makeSecret());
  const client = relay();
  await out.note(`listening to ${target().url}, forwarding to ${forward}`);
  await out.note(`signed with ${secret}`);
  const stopped = new AbortController();
  const forget = host.onInterrupt(() => stopped.abort());
  try {
    const types = list("type").join(",") || undefined;
    await listenLoop({ relay: client, forward, secret, types, since }, {
      fetch: host.fetch,
      now: host.now,
      sleep: (ms) => host.sleep(ms, stopped.signal),
      forwarded: (answer, line) => out.entry(answer, answer.event_id, line),
      note: (line) => out.note(line),
    }, stopped.signal);
  } finally {
    forget();
  }
};

const makeSecret = () =>
  `whsec_${Buffer.from(systemEntropy.bytes(SECRET_BYTES)).toString("base64")}`;

const isHttp = (text: string) => /^https?:$/.test(URL.parse(text)?.protocol ?? "");
