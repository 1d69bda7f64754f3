/** Tests that make no sense on several instances, or do not hold there yet, by the reason. All others must pass. */
export const LEFT_OUT: Readonly<Record<string, readonly string[]>> = {
  "each instance reads its own configuration, so a reload changes only the one that serves it": [
    "config: shows whether private addresses are dialled, and records a change",
    "config: a reload returns the differences, which apply from the next request",
    "config: a change of any size is put in force, and its event records as much as fits",
  ],
  "what other instances have leased of a limit counts as used, and may be given back late": [
    "limits.get: shows the limits in force, their sources, and what is left",
    "api_keys.explain: shows the key, its creator, its organization and the limits in force",
    "api_keys.explain: shows what is left of each limit after the key's use",
    "limits: an organization's plan admits exactly its limit a minute, over all its credentials",
    "limits: a key's burst and minute bind it together, and the one with least left is shown",
    "limits: refusals of `/ws` for missing rights are limited, and over the limit nothing is recorded",
    "limits: every handshake at `/ws` counts as a request, whatever its outcome, except an agent's",
    "limits: Retry-After is exact to the second for every limit",
    "bodies: an address pays one request for each 16 KiB, whatever the declared length",
    "connections: a request over the limit spends no other limit and says when to retry",
    "connections: an agent's link counts as none, and a stream that the relay ends gives its own back",
    "rate: a webhook that an API key created sends 50 a minute, then the rest, and drops none",
    "rate: 10 a minute for a test key, over all webhooks that it created",
    "streams: a person has at most 50 open, and an ended one frees its place",
  ],
  "each instance fetches an issuer's keys for itself": [
    "issuers: keys are fetched every ten minutes, and for unknown keys at most twice a minute",
    "issuers: an unreachable issuer gives 503; its known keys are used for a day",
  ],
  "each instance bounds its own memory, work and streams": [
    "apply: refuses more concurrent fetches than an organization may have",
    "listen: a caller may have ten streams, and closing one admits another",
    "webhooks.recover: four run at once, and further ones are refused",
  ],
  "metrics and health figures are those of one process": [
    "health: counts what is linked, running and due now",
    "metrics: only the host's, with system:read, in Prometheus' format",
    "metrics: count commands, tool calls, approval requests and streams by outcome",
    "metrics: names, units and helps follow Prometheus' conventions",
    "metrics: buckets of a histogram are cumulative and end with all",
    "docs/metrics.md: names exactly the metrics that exist",
    "metrics: measure commands, decisions, deliveries, commits and numbering",
    "metrics: commands, decisions and denials of the test space do not count",
    "metrics: denials count by the pack of the rule, those by policies together",
    "metrics: requests over a limit count by limit, and failed sign-ins by their kind",
    "metrics: syncs of repositories count by result",
    "metrics: a stream that is cut because it is not read counts by its reason",
    "metrics: undeclared routes share one row, so that guesses cannot fill the memory",
    "mcp approvals: a state is valid for its caller, tool and arguments only, and unchanged",
    "mount: the duration of refusals is measured too",
  ],
  "the test counts turns of the event loop, in which an instance also reads the shared store": [
    "shield.evaluate: yields by the work of commands, not by their length",
  ],
  "the test looks into the first instance or holds up one of its parts": [
    "access log: a share chooses by chance, and keeps every failure of the server",
    "approvals: a request is kept while it may wait, however short the retention of commands",
    "backup: one organization's silent agents take at most half of the slots",
    "backup: jobs that wait for their organization's slots cost other agents' links nothing",
    "backup: organizations take turns, however many agents of one are waiting",
    "backup: many jobs of absent agents do not delay those of present ones",
    "reports: an interrupted job continues after its last commit and counts nothing twice",
    "syncs: do not loop while the store cannot be written",
    "connections over real sockets: a client that disconnects at any moment frees its connection",
    "isolation: with 60 dead webhooks each of 20 healthy ones is reached at once",
    "isolation: 100 slow webhooks of one organization do not delay another's",
    "Deliveries.wake: at full capacity it neither polls nor forgets what comes later",
    "listen: malformed subscriptions and anonymous callers are refused",
    "listen: a slow authentication of a caller is not started twice",
    "reports: an error is retried, and after five the report fails and is recorded",
    "streams: a credential that cannot be checked ends only its own streams, after 10 s",
    "streams: a lost credential ends its stream within a second while checks of others are slow",
    "streams: a stream whose opening cannot be recorded is closed",
    "streams: an active reader catches up on any number of large events",
    "exec: a clock that jumps forward ends no link and no command early",
    "link: it closes within 1 s of its key's end, even while another key cannot be read",
    "run: commands of one turn go in one message under one verdict, at most 64, in order",
  ],
  "the shared time does not follow machines whose clocks are set forward": [
    "notifications: a key that expires soon is reported to its creator and the administrators, once",
  ],
  "calls that one process serves at the same time may follow each other on several instances": [
    "api_keys.rotate: two concurrent ones give one success and one 409, with grace and without",
  ],
  "a command that is handed over is still queued when its start is answered": [
    "commands.start: answers at once with the running command; get shows its end",
  ],
  "a change at another instance reaches registered links; others are checked when they register": [
    "link: a link that is still registering closes with its key",
  ],
  "each instance orders the streams of an MCP session for itself": [
    "sessions: the newest of several streams gets notifications, then the one before it",
    "listen: no notification precedes the acknowledgement",
  ],
  "each instance counts the calls of an MCP session": [
    "sessions: opening and ending are events with the number of calls",
    "sessions: a caller may have 50, and the oldest ends",
    "sessions: the count of calls is forgotten however a session ends",
  ],
  "several instances send the deliveries of one webhook at the same time": [
    "webhooks.disable: holds deliveries, and webhooks.enable sends them in the order of the events",
    "webhooks.recover: resends failed deliveries of a time range; a dry run only counts",
    "delivery: any number put off while the clock was far ahead is sent once the clock jumps back",
  ],
};

/** The names of those tests. */
export const NAMES: ReadonlySet<string> = new Set(Object.values(LEFT_OUT).flat());

/** Files that are left out whole, by the reason. */
export const FILES_LEFT_OUT: Readonly<Record<string, readonly string[]>> = {
  "they change stored rows and check that a reader notices, whichever instances wrote them": [
    "tests/events/tamper_bytes_test.ts",
    "tests/events/tamper_test.ts",
  ],
};
