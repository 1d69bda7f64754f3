import { OutboundError } from "../../ports/ports.ts";

/** Raised when a repository exceeds the limits of what Relay reads. */
export class RepositoryTooLarge extends Error {
  override readonly name = "RepositoryTooLarge";
}

/** Why a repository could not be read. */
export type GitFailureKind =
  | "too_large"
  | "missing_branch"
  | "missing_path"
  | "empty"
  | "credentials"
  | "not_found"
  | "refused_address"
  | "unsupported"
  | "timeout"
  | "host";

/** Raised when a repository could not be read; the message is for the person who registered it. */
export class GitFailure extends Error {
  override readonly name = "GitFailure";
  constructor(readonly kind: GitFailureKind, message: string, options?: ErrorOptions) {
    super(message, options);
  }
}

/** An error of the Git library, known by its code, so that no file loads the library for an error. */
interface LibraryError {
  readonly code?: string;
  readonly data?: { readonly statusCode: number };
}

/** The failure as users see it. Nothing from the host's answer is repeated. */
export function gitFailureOf(error: unknown, branch: string): GitFailure {
  if (error instanceof GitFailure) return error;
  const say = (kind: GitFailureKind, message: string) =>
    new GitFailure(kind, message, { cause: error });
  if (error instanceof RepositoryTooLarge) {
    return say(
      "too_large",
      `The repository is too large: ${error.message}. Use a smaller one for policies.`,
    );
  }
  if (error instanceof OutboundError) {
    if (error.kind === "refused_address") return say("refused_address", error.message);
    if (error.kind === "timeout") {
      return say("timeout", "The Git host did not answer in time. Try again later.");
    }
    return say("host", `The Git host could not be reached: ${error.message}`);
  }
  const { code, data } = error as LibraryError;
  if (code === "HttpError") return ofStatus(data!.statusCode, say);
  if (code === "NotFoundError") {
    return say("missing_branch", `The repository has no branch ${branch}.`);
  }
  if (code === "SmartHttpError") {
    return say(
      "host",
      "There is no Git repository at this address: the response is not from Git.",
    );
  }
  return say(
    "host",
    "The response of the Git host could not be read: it does not follow the Git protocol.",
  );
}

type Say = (kind: GitFailureKind, message: string) => GitFailure;

function ofStatus(status: number, say: Say): GitFailure {
  if (status === 401 || status === 403) {
    return say(
      "credentials",
      `The Git host refused the credentials (HTTP ${status}). Register the repository with ` +
        "valid credentials, or install an integration for the host.",
    );
  }
  if (status === 404) {
    return say("not_found", "The Git host has no such repository, or hides it (HTTP 404).");
  }
  if (status >= 300 && status < 400) {
    return say(
      "host",
      `The Git host redirects (HTTP ${status}). Register the address that it points to.`,
    );
  }
  return say("host", `The Git host answered HTTP ${status}.`);
}
