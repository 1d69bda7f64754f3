import { Buffer } from "node:buffer";
import { systemEntropy } from "../../../ports/ports.ts";
import { UsageError } from "../../arguments.ts";
import type { Call, Run } from "../command.ts";
import { listenLoop } from "./listen_loop.ts";

const SECRET_BYTES = 24;

/** `relay listen`: runs until Ctrl-C, or until the relay refuses. */
export const listen: Run = async (call) => {
  const { relay, target, text, list, number, host, out } = call;
  const forward = text("forward");
  if (forward === undefined) throw new UsageError("The target is missing: give --forward.");
  if (!isHttp(forward)) {
    throw new UsageError(`The address "${forward}" is not an http or https address.`);
  }
  const since = number("since") ?? null;
  const given = givenSecret(call);
  const secret = given ?? makeSecret();
  const client = relay();
  await out.note(`listening to ${target().url}, forwarding to ${forward}`);
  await out.note(
    given === null ? `signed with a new secret: ${secret}` : "signed with your secret",
  );
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

/** The secret of the standard input or of the environment: arguments are visible to all users of a machine. */
function givenSecret({ has, host }: Call): string | null {
  if (!has("secret-stdin")) return host.env["RELAY_WEBHOOK_SECRET"] || null;
  const secret = host.readLine().trim();
  if (secret === "") throw new UsageError("The standard input holds no secret.");
  return secret;
}

const makeSecret = () =>
  `whsec_${Buffer.from(systemEntropy.bytes(SECRET_BYTES)).toString("base64")}`;

const isHttp = (text: string) => /^https?:$/.test(URL.parse(text)?.protocol ?? "");
