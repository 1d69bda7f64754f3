/** A failure that is not the relay's. */
export interface Allowed {
  readonly operation?: string;
  /** Names of schemathesis' failures. */
  readonly failures: readonly string[];
  readonly status: number;
  /** Only for addresses of at least so many bytes. */
  readonly url_bytes?: number;
  readonly because: string;
}

/** At most five. Rules that no schema can say belong into `rules` of their route. */
export const ALLOWED: readonly Allowed[] = [
  {
    operation: "socket.open",
    failures: ["RejectedPositiveData", "AcceptedNegativeData"],
    status: 426,
    because: "schemathesis sends plain HTTP where only a WebSocket handshake is answered otherwise",
  },
  {
    failures: ["RejectedPositiveData"],
    status: 410,
    because: "what a valid request names is gone, which schemathesis knows only as 404",
  },
  {
    operation: "shield.canary",
    failures: ["ServerError"],
    status: 503,
    because: "a check that fails is told so; the run has switched patterns off before",
  },
  {
    operation: "gitops.apply",
    failures: ["ServerError"],
    status: 503,
    because: "the Git host of the registered repository cannot be reached, since the run has none",
  },
  {
    failures: ["MalformedJson", "MissingContentType"],
    status: 400,
    url_bytes: 60_000,
    because: "the runtime refuses an address of 64 KiB before Relay sees it, with an empty answer",
  },
];
