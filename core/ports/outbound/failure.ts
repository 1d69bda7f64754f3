import { OutboundError, type OutboundErrorKind } from "../interfaces.ts";

/** The phase of an exchange; it decides the kind of a failure. */
export type Phase = "connect" | "tls" | "http";

/** Sentences for the most common failures; others keep the system's text. */
const KNOWN_CODES: Readonly<Record<string, readonly [OutboundErrorKind, string]>> = {
  ECONNREFUSED: ["connect", "The connection was refused."],
  EHOSTUNREACH: ["connect", "There is no route to the host."],
  ENETUNREACH: ["connect", "There is no route to the network."],
};

/** Converts a failure to the port's error. `phase` decides the kind where the error does not. */
export function classifyFailure(error: unknown, phase: Phase): OutboundError {
  if (error instanceof OutboundError) return error;
  const code = errorCode(error);
  const known = code === undefined ? undefined : KNOWN_CODES[code];
  if (known !== undefined) return new OutboundError(known[0], known[1], { cause: error });
  if (code === "ECONNRESET" && phase === "http") {
    return new OutboundError("http", "The connection was reset before a response.", {
      cause: error,
    });
  }
  const words = error instanceof Error && error.message !== "" ? error.message : "unknown failure";
  return new OutboundError(phase, `${PHASE_SENTENCES[phase]}: ${words}`, { cause: error });
}

const PHASE_SENTENCES: Readonly<Record<Phase, string>> = {
  connect: "The connection failed",
  tls: "The TLS handshake failed",
  http: "The response is not valid HTTP",
};

function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
