// Written by `deno task docs` from docs/openapi.json. Do not edit.

/** Operations with one answer, by id. */
export interface Operations {
  /** Change your password */
  "account.change_password": {
    body: {
      readonly current_password: string;
      readonly new_password: string;
    };
    answer: {
      readonly sessions_ended: number;
    };
  };
  /** End one of your own sessions */
  "account.end_session": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    answer: undefined;
  };
  /** Get the current account, credential and rights */
  "account.info": { answer: AccountInfo };
  /** Get the public keys that verify JWTs */
  "account.jwks": { answer: Jwks };
  /** Sign in and get a JWT */
  "account.login": { body: Login; answer: SignedIn };
  /** List your notifications, newest first */
  "account.notifications": {
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
      /** Only unread notifications. */
      readonly unread?: Flag | undefined;
    };
    answer: {
      readonly notifications: readonly Notification[];
      readonly pagination: Pagination;
      readonly unread: number;
    };
  };
  /** Mark a notification as read */
  "account.read_notification": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    body: Readonly<Record<string, never>>;
    answer: Notification;
  };
  /** Refresh a session */
  "account.refresh": {
    body: {
      readonly refresh_token: string;
    };
    answer: SignedIn;
  };
  /** Rename the organization */
  "account.rename_organization": {
    body: {
      readonly name: string;
    };
    answer: Organization;
  };
  /** Set a new password with a link's token */
  "account.reset_password": {
    body: {
      readonly password: string;
      readonly token: string;
    };
    answer: {
      readonly email: string;
      readonly sessions_ended: number;
    };
  };
  /** List your own sessions, newest first */
  "account.sessions": {
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
    };
    answer: {
      readonly pagination: Pagination;
      readonly sessions: readonly Session[];
    };
  };
  /** Get the account's language and timezone */
  "account.settings": { answer: AccountSettings };
  /** Sign up a user */
  "account.signup": { body: SignUp; answer: SignedIn };
  /** Change language or timezone */
  "account.update_settings": {
    body: {
      /** A BCP 47 language tag. */
      readonly language?: string | undefined;
      /** An IANA time zone name. */
      readonly timezone?: string | undefined;
    };
    answer: AccountSettings;
  };
  /** Change an account's plan */
  "accounts.change_plan": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    body: {
      /** An opaque id. */
      readonly plan_id: string;
    };
    answer: {
      readonly active: boolean;
      readonly created_at: string;
      readonly host: boolean;
      readonly id: string;
      readonly name: string;
      readonly order: Order;
      readonly plan_id: string;
      readonly plan_name: string;
      /** The limit in force; 2147483647 means no limit. */
      readonly requests_per_minute: number;
      readonly subscription: Subscription;
      readonly users: number;
    };
  };
  /** List accounts */
  "accounts.list": {
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
      /** Accounts that are active, or inactive. */
      readonly active?: Flag | undefined;
      /** Accounts with this plan. */
      readonly plan_id?: string | undefined;
    };
    answer: {
      readonly accounts: readonly Account[];
      readonly pagination: Pagination;
    };
  };
  /** Activate or deactivate an account */
  "accounts.toggle": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    body: {
      readonly active: boolean;
    };
    answer: Account;
  };
  /** Stop an upgrade of agents */
  "agent_upgrades.cancel": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    body: Readonly<Record<string, never>>;
    answer: Upgrade;
  };
  /** Get an upgrade of agents */
  "agent_upgrades.get": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    answer: Upgrade;
  };
  /** Upgrade agents to the relay's version */
  "agent_upgrades.start": {
    body: {
      /** All agents. */
      readonly all?: true | undefined;
      /** Agents that have all of these labels. */
      readonly labels?: Readonly<Record<string, string>> | undefined;
      /** Agents by name or id. */
      readonly names?: readonly string[] | undefined;
      readonly stop_after_failures?: number | undefined;
    };
    answer: UpgradeStarted;
  };
  /** Deregister an agent and close its link */
  "agents.delete": {
    params: {
      /** The agent's id or its name. */
      readonly id: string;
    };
    answer: undefined;
  };
  /** Get an agent */
  "agents.get": {
    params: {
      /** The agent's id or its name. */
      readonly id: string;
    };
    answer: Agent;
  };
  /** Report an agent's health without its link */
  "agents.heartbeat": {
    body: {
      /** An opaque id. */
      readonly agent_id: string;
      readonly status: ReportedStatus;
    };
    answer: {
      readonly agent_id: string;
      readonly received_at: string;
      readonly status: ReportedStatus;
      /** True when the agent's own credential was sent. */
      readonly verified: boolean;
    };
  };
  /** List agents (control plane) */
  "agents.list": {
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
      /** Agents with this status. */
      readonly status?: AgentStatus | undefined;
      /** The agent with exactly this name. */
      readonly name?: string | undefined;
      /** A text that occurs in the name or the host name, ignoring case. */
      readonly text?: string | undefined;
      /** Agents with this label, as `key=value`. */
      readonly label?: string | undefined;
      /** `true`: agents of an earlier version than the relay's. `false`: all others. */
      readonly outdated?: Flag | undefined;
    };
    answer: AgentList;
  };
  /** List agents */
  "agents.list_all": {
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
      /** Agents with this status. */
      readonly status?: AgentStatus | undefined;
      /** The agent with exactly this name. */
      readonly name?: string | undefined;
      /** A text that occurs in the name or the host name, ignoring case. */
      readonly text?: string | undefined;
      /** Agents with this label, as `key=value`. */
      readonly label?: string | undefined;
      /** `true`: agents of an earlier version than the relay's. `false`: all others. */
      readonly outdated?: Flag | undefined;
    };
    answer: AgentList;
  };
  /** Restart an agent */
  "agents.restart": {
    params: {
      /** The agent's id or its name. */
      readonly id: string;
    };
    body: Readonly<Record<string, never>>;
    answer: Agent;
  };
  /** Rename an agent or change the relay's labels of it */
  "agents.update": {
    params: {
      /** The agent's id or its name. */
      readonly id: string;
    };
    body: {
      /** Labels to set; null removes one that belongs to the relay. */
      readonly labels?: Readonly<Record<string, string | null>> | undefined;
      /** The new name. */
      readonly name?: string | undefined;
    };
    answer: Agent;
  };
  /** Acknowledge an alert */
  "alerts.acknowledge": { body: AlertRemark; answer: Alert };
  /** Get an alert */
  "alerts.get": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    answer: Alert;
  };
  /** Import alerts */
  "alerts.ingest": {
    body: {
      readonly alerts: readonly unknown[];
      readonly source: string;
    };
    answer: {
      /** The number of alerts accepted. */
      readonly accepted: number;
      readonly created: number;
      readonly errors: readonly {
        readonly index: number;
        readonly message: string;
      }[];
      /** The number of unreadable alerts; `errors` says why. */
      readonly rejected: number;
      readonly resolved: number;
      /** Deprecated name of `accepted`. */
      readonly stored: number;
      readonly updated: number;
    };
  };
  /** List alerts, newest first */
  "alerts.list": {
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
      /** Alerts in this state; the active ones by default. */
      readonly state?: AlertState | undefined;
      /** Alerts of exactly this severity. */
      readonly severity?: Severity | undefined;
      /** Alerts from this source. */
      readonly source?: string | undefined;
      /** The agent's id or its name. A deleted agent is found by its id only. */
      readonly agent_id?: string | undefined;
      /** A text that occurs in the name, the source or the summary, ignoring case. Of the alerts that the other filters choose, it searches the newest 2,000. */
      readonly text?: string | undefined;
    };
    answer: {
      readonly alerts: readonly Alert[];
      readonly pagination: Pagination;
    };
  };
  /** Resolve an alert */
  "alerts.resolve": { body: AlertRemark; answer: Alert };
  /** Create an API key */
  "api_keys.create": {
    body: {
      readonly description?: string | undefined;
      /** Days until it expires; 90 by default. A key created by another key expires with that key by default, and never later. */
      readonly expires_days?: number | undefined;
      readonly metadata?: Readonly<Record<string, unknown>> | undefined;
      readonly name: string;
      readonly scopes: readonly Scope[];
      /** A test key sees and creates only test data. */
      readonly type?: Space | undefined;
    };
    answer: ApiKey;
  };
  /** Delete an API key */
  "api_keys.delete": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    answer: undefined;
  };
  /** Explain a key's access to a scope */
  "api_keys.explain": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    query: {
      /** The scope to check. */
      readonly scope: Scope;
    };
    answer: ApiKeyExplanation;
  };
  /** Get an API key */
  "api_keys.get": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    answer: ApiKey;
  };
  /** List API keys, newest first */
  "api_keys.list": {
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
      /** Keys of this space. */
      readonly type?: Space | undefined;
    };
    answer: {
      readonly api_keys: readonly ApiKey[];
      readonly pagination: Pagination;
    };
  };
  /** Revoke an API key */
  "api_keys.revoke": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    body: {
      /** Also end everything that was made with it. */
      readonly cascade?: boolean | undefined;
      /** Only list what would end; change nothing. */
      readonly dry_run?: boolean | undefined;
    };
    answer: ApiKeyRevocation;
  };
  /** Rotate an API key */
  "api_keys.rotate": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    body: {
      /** Hours during which the old value also works. */
      readonly grace_period_hours?: number | undefined;
    };
    answer: ApiKeyRotation;
  };
  /** Update an API key's name, metadata, scopes or expiry */
  "api_keys.update": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    body: {
      readonly created_at?: string | undefined;
      readonly created_by?: string | undefined;
      /** What created it: an API key (`api_key`), a sign-in (`session`), an MCP client (`mcp_grant`) or another issuer (`issuer`, by address); null when an earlier version of Relay did not record it. */
      readonly created_with?: CreatedWithInput | null | undefined;
      readonly description?: string | undefined;
      /** When it ends: in the future, and at most 3650 days ahead. A key cannot give another key a later end than its own. */
      readonly expires_at?: string | undefined;
      /** When the old value stops working, while the key is rotating. */
      readonly grace_period_ends?: string | null | undefined;
      readonly id?: string | undefined;
      /** The first characters; the whole value is shown only once. */
      readonly key?: string | undefined;
      readonly last_used?: string | null | undefined;
      readonly metadata?: Readonly<Record<string, unknown>> | undefined;
      readonly name?: string | undefined;
      /** Why it should be rotated; null when there is no reason. */
      readonly notice?: string | null | undefined;
      readonly rate_limits?: ApiKeyRateLimitsInput | undefined;
      /** When it got its current value. */
      readonly rotated_at?: string | null | undefined;
      readonly scopes?: readonly Scope[] | undefined;
      readonly status?: ApiKeyStatus | undefined;
      readonly type?: Space | undefined;
    };
    answer: ApiKey;
  };
  /** Get the usage of an API key */
  "api_keys.usage": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    query?: {
      /** The period: a duration up to now (`24h`, `7d`, `1w`, or in ISO 8601, such as `PT24H`, `P7D`, `P1W`, `P1M` or `P1Y`), a quarter (`2026-Q4`), or `from/to` with ISO 8601 dates or times, both inclusive (`2026-07-01/2026-09-30`). */
      readonly period?: string | undefined;
    };
    answer: ApiKeyUsage;
  };
  /** Approve a blocked process */
  "approvals.approve": {
    params: {
      /** The id of the request for approval. */
      readonly pid: string;
    };
    body: ApprovalConfirmation;
    answer: Approval;
  };
  /** Get an approval request */
  "approvals.get": {
    params: {
      /** The id of the request for approval. */
      readonly pid: string;
    };
    answer: ReadApproval;
  };
  /** List approval requests */
  "approvals.list": {
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
      /** Requests with this status. */
      readonly status?: ApprovalStatus | undefined;
      /** Which come first. */
      readonly order?: "newest" | "oldest" | undefined;
    };
    answer: {
      readonly approvals: readonly Approval[];
      readonly pagination: Pagination;
    };
  };
  /** Reject a blocked process */
  "approvals.reject": {
    params: {
      /** The id of the request for approval. */
      readonly pid: string;
    };
    body: ApprovalDecision;
    answer: Approval;
  };
  /** Propose rules from past decisions */
  "approvals.suggest": {
    query?: {
      /** How many days to look back. */
      readonly days?: number | undefined;
    };
    answer: RuleSuggestions;
  };
  /** Get a signed checkpoint of the audit log */
  "audit.checkpoint": {
    answer: {
      readonly handovers: readonly string[];
      readonly note: string;
      readonly origin: string;
      readonly public_key: string;
      readonly root_hash: string;
      readonly timestamp: string;
      readonly tree_size: number;
    };
  };
  /** Get a consistency proof of the audit log */
  "audit.consistency": {
    query: {
      /** The size of the earlier tree, in rows. */
      readonly from: number;
      /** The size of the later tree, in rows; the current size by default. */
      readonly to?: number | undefined;
    };
    answer: {
      readonly from: number;
      readonly from_root: string;
      readonly path: readonly string[];
      readonly to: number;
      readonly to_root: string;
    };
  };
  /** Export the audit log, oldest first */
  "audit.export": {
    query?: {
      /** From this time, or from the start of this date, inclusive; UTC unless a zone is given. */
      readonly start_time?: string | undefined;
      /** Until this time, or the end of this date, inclusive; UTC unless a zone is given. */
      readonly end_time?: string | undefined;
      /** One or more event types, separated by commas. */
      readonly event_type?: string | undefined;
      /** The agent's id or its name. A deleted agent is found by its id only. */
      readonly agent_id?: string | undefined;
      /** The id of the user, the API key or another actor. */
      readonly actor?: string | undefined;
      /** The type of the resource concerned, such as `api_key` or `agent`. */
      readonly resource_type?: ResourceType | undefined;
      /** The id of the resource concerned. */
      readonly resource_id?: string | undefined;
      /** The result of the recorded action. */
      readonly result?: AuditResult | undefined;
      /** The id of an alert: the story of that alert and of the commands that answer it. */
      readonly thread?: string | undefined;
      /** A text that occurs in `details`, ignoring case. */
      readonly text?: string | undefined;
    };
    answer: unknown;
  };
  /** Get the inclusion proof of an event */
  "audit.proof": {
    params: {
      /** An opaque id. */
      readonly event_id: string;
    };
    answer: {
      readonly checkpoint: AuditCheckpoint;
      readonly event_id: string;
      readonly leaf_hash: string;
      readonly leaf_index: number;
      readonly path: readonly string[];
      readonly row: string | null;
      readonly seq: number;
    };
  };
  /** Query the audit log, newest first */
  "audit.query": {
    query?: {
      /** From this time, or from the start of this date, inclusive; UTC unless a zone is given. */
      readonly start_time?: string | undefined;
      /** Until this time, or the end of this date, inclusive; UTC unless a zone is given. */
      readonly end_time?: string | undefined;
      /** One or more event types, separated by commas. */
      readonly event_type?: string | undefined;
      /** The agent's id or its name. A deleted agent is found by its id only. */
      readonly agent_id?: string | undefined;
      /** The id of the user, the API key or another actor. */
      readonly actor?: string | undefined;
      /** The type of the resource concerned, such as `api_key` or `agent`. */
      readonly resource_type?: ResourceType | undefined;
      /** The id of the resource concerned. */
      readonly resource_id?: string | undefined;
      /** The result of the recorded action. */
      readonly result?: AuditResult | undefined;
      /** The id of an alert: the story of that alert and of the commands that answer it. */
      readonly thread?: string | undefined;
      /** A text that occurs in `details`, ignoring case. */
      readonly text?: string | undefined;
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
      /** The `cursor` of the previous response. */
      readonly cursor?: string | undefined;
    };
    answer: {
      readonly cursor: string | null;
      readonly events: readonly AuditEvent[];
      readonly pagination: AuditPagination;
    };
  };
  /** Record an audit event of your own */
  "audit.register": {
    body: {
      readonly actor?: string | undefined;
      readonly details?: Readonly<Record<string, unknown>> | undefined;
      readonly event_type: string;
    };
    answer: RegisteredAuditEvent;
  };
  /** Cancel a running command */
  "commands.cancel": {
    params: {
      /** The agent's id or its name. */
      readonly id: string;
      /** The command's id. */
      readonly command_id: string;
    };
    body: Readonly<Record<string, never>>;
    answer: Command;
  };
  /** Run a command and wait for its result */
  "commands.exec": {
    params: {
      /** The agent's id or its name. */
      readonly agent_id: string;
    };
    query: {
      /** A command line for the agent's shell. */
      readonly command: string;
      /** Seconds that the command may run; Relay then ends it. */
      readonly timeout?: number | undefined;
      /** The alert that the command answers. Their events then have the same `thread`. */
      readonly alert_id?: string | undefined;
    };
    answer: Command;
  };
  /** Get a command's state and output */
  "commands.get": {
    params: {
      /** The agent's id or its name. */
      readonly id: string;
      /** The command's id. */
      readonly command_id: string;
    };
    answer: Command;
  };
  /** List commands, newest first */
  "commands.list": {
    query?: {
      /** One or more, separated by commas, of queued, running, succeeded, failed, denied, pending_approval, rejected, expired, cancelled, timed_out, lost. */
      readonly status?: string | undefined;
      /** Commands of agents that have this label now, as `key=value`. */
      readonly label?: string | undefined;
      /** The id of the user or API key that asked. */
      readonly actor?: string | undefined;
      /** A text that occurs in the command, ignoring case. */
      readonly text?: string | undefined;
      /** The shield's verdict. */
      readonly verdict?: Verdict | undefined;
      /** Commands created from this time, or from the start of this date, inclusive; UTC unless a zone is given. */
      readonly start_time?: string | undefined;
      /** Commands created until this time, or the end of this date, inclusive; UTC unless a zone is given. */
      readonly end_time?: string | undefined;
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The `cursor` of the previous response. */
      readonly cursor?: string | undefined;
      /** The agent's id or its name. A deleted agent is found by its id only. */
      readonly agent_id?: string | undefined;
      /** Exactly this command, such as to find its agent. */
      readonly command_id?: string | undefined;
      /** Commands of this fleet command. */
      readonly parent_id?: string | undefined;
    };
    answer: CommandList;
  };
  /** List an agent's commands, newest first */
  "commands.of_agent": {
    params: {
      /** The agent's id or its name. */
      readonly id: string;
    };
    query?: {
      /** One or more, separated by commas, of queued, running, succeeded, failed, denied, pending_approval, rejected, expired, cancelled, timed_out, lost. */
      readonly status?: string | undefined;
      /** Commands of agents that have this label now, as `key=value`. */
      readonly label?: string | undefined;
      /** The id of the user or API key that asked. */
      readonly actor?: string | undefined;
      /** A text that occurs in the command, ignoring case. */
      readonly text?: string | undefined;
      /** The shield's verdict. */
      readonly verdict?: Verdict | undefined;
      /** Commands created from this time, or from the start of this date, inclusive; UTC unless a zone is given. */
      readonly start_time?: string | undefined;
      /** Commands created until this time, or the end of this date, inclusive; UTC unless a zone is given. */
      readonly end_time?: string | undefined;
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The `cursor` of the previous response. */
      readonly cursor?: string | undefined;
    };
    answer: CommandList;
  };
  /** Read or follow a command's output */
  "commands.output": {
    params: {
      /** The agent's id or its name. */
      readonly id: string;
      /** The command's id. */
      readonly command_id: string;
    };
    query?: {
      /** The offset to begin at. The header `Last-Event-ID` takes precedence. An offset within a character counts as its first byte. */
      readonly from?: number | undefined;
      /** The most bytes in a JSON response, or one character; a stream ignores it. */
      readonly max_bytes?: number | undefined;
    };
    answer: CommandOutput;
  };
  /** Start a command */
  "commands.start": {
    params: {
      /** The agent's id or its name. */
      readonly id: string;
    };
    body: {
      /** The alert that the command answers. Their events then have the same `thread`. */
      readonly alert_id?: string | undefined;
      /** A command line for the agent's shell. */
      readonly command: string;
      /** Seconds that the command may run; Relay then ends it. */
      readonly timeout?: number | undefined;
      /** Seconds to wait for the command's end; 0 responds at once. */
      readonly wait?: number | undefined;
    };
    answer: Command;
  };
  /** Take the evidence about a period as one archive */
  "compliance.evidence": {
    query: {
      /** The period: a duration up to now (`24h`, `7d`, `1w`, or in ISO 8601, such as `PT24H`, `P7D`, `P1W`, `P1M` or `P1Y`), a quarter (`2026-Q4`), or `from/to` with ISO 8601 dates or times, both inclusive (`2026-07-01/2026-09-30`). */
      readonly period: string;
    };
    answer: string;
  };
  /** Generate a compliance report from the audit log */
  "compliance.generate": {
    body: {
      /** The period: a duration up to now (`24h`, `7d`, `1w`, or in ISO 8601, such as `PT24H`, `P7D`, `P1W`, `P1M` or `P1Y`), a quarter (`2026-Q4`), or `from/to` with ISO 8601 dates or times, both inclusive (`2026-07-01/2026-09-30`). */
      readonly period: string;
      /** The evidence pack. */
      readonly type: ReportType;
    };
    answer: ComplianceReport;
  };
  /** Get a compliance report */
  "compliance.report": {
    query?: {
      /** The id of a report. */
      readonly id?: string | undefined;
      /** Takes precedence over `Accept`. */
      readonly format?: "json" | "html" | undefined;
    };
    answer: unknown;
  };
  /** List compliance reports, newest first */
  "compliance.reports": {
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
    };
    answer: {
      readonly pagination: Pagination;
      readonly reports: readonly ComplianceReport[];
    };
  };
  /** Get the schedule of compliance reports */
  "compliance.schedule": { answer: ReportSchedule };
  /** Set the schedule of compliance reports */
  "compliance.set_schedule": {
    body: {
      /** Null ends the schedule. */
      readonly every: ReportInterval | null;
      /** Days that reports of the schedule are kept; null for as long as there is room. */
      readonly keep_days?: number | null | undefined;
      /** All types by default. */
      readonly types?: readonly ReportType[] | undefined;
    };
    answer: ReportSchedule;
  };
  /** Get the configuration in force */
  "config.get": { answer: Configuration };
  /** Reload the configuration */
  "config.reload": {
    body: Readonly<Record<string, never>>;
    answer: {
      readonly changes: readonly ({
        /** Secrets are masked; null means unlimited or unset. */
        readonly after: unknown;
        /** Secrets are masked; null means unlimited or unset. */
        readonly before: unknown;
        readonly change: "added" | "changed" | "removed";
        readonly in_force: "now";
        readonly path: string;
      })[];
      readonly loaded_at: string;
    };
  };
  /** Sign a browser in by cookie */
  "console_session.begin": { body: Login; answer: ConsoleSession };
  /** Sign out, here or everywhere */
  "console_session.end": {
    query?: {
      /** Ends all sessions of the user. */
      readonly everywhere?: Flag | undefined;
    };
    answer: undefined;
  };
  /** Get the ways to sign in and sign up */
  "console_session.options": { answer: SignInOptions };
  /** Sign a user up, and their browser in by cookie */
  "console_session.sign_up": { body: SignUp; answer: ConsoleSession };
  /** Get dashboard figures */
  "dashboard.stats": { answer: DashboardStats };
  /** Approve or deny the sign-in of a terminal */
  "device_logins.decide": {
    body: {
      readonly approve: boolean;
      /** The code that the terminal shows. */
      readonly user_code: string;
    };
    answer: DeviceLogin;
  };
  /** Get the page that approves the sign-in of a terminal */
  "device_logins.page": { answer: string };
  /** Poll for the session of a terminal */
  "device_logins.poll": {
    body: {
      readonly device_code: string;
    };
    answer: {
      /** Seconds to wait before the next poll. */
      readonly interval: number;
      readonly session: SignedIn | null;
      readonly status: "authorization_pending" | "slow_down" | "complete";
    };
  };
  /** Show which terminal asks to be signed in */
  "device_logins.read": {
    body: {
      /** The code that the terminal shows. */
      readonly user_code: string;
    };
    answer: DeviceLogin;
  };
  /** Start the sign-in of a terminal */
  "device_logins.start": {
    body: {
      /** Shown to the person who approves. */
      readonly device_name: string;
    };
    answer: {
      readonly device_code: string;
      readonly expires_at: string;
      /** The lifetime of the codes in seconds. */
      readonly expires_in: number;
      /** Seconds to wait between two polls. */
      readonly interval: number;
      readonly user_code: string;
      /** The page to approve at. Without RELAY_PUBLIC_URL it is relative. */
      readonly verification_uri: string;
    };
  };
  /** Confirm a pairing and get the device's credential */
  "devices.confirm": {
    body: {
      /** An opaque id. */
      readonly device_id: string;
      readonly token: string;
    };
    answer: {
      readonly credential: string;
      readonly device: Device;
    };
  };
  /** Create a one-time pairing code */
  "devices.create_code": {
    body: {
      /** The agent's labels; they take precedence over the labels that the agent reports. */
      readonly labels?: Readonly<Record<string, string>> | undefined;
    };
    answer: {
      readonly expires_at: string;
      readonly id: string;
      readonly labels: Readonly<Record<string, string>>;
      readonly pairing_code: string;
    };
  };
  /** Delete a device and end its credential */
  "devices.delete": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    answer: undefined;
  };
  /** Void a pairing code */
  "devices.delete_code": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    answer: undefined;
  };
  /** List devices */
  "devices.list": {
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
      /** Devices with this status. */
      readonly trust_status?: "pending" | "trusted" | undefined;
      /** The device that this code paired, if it was used. */
      readonly pairing_code_id?: string | undefined;
    };
    answer: {
      readonly devices: readonly Device[];
      readonly pagination: Pagination;
    };
  };
  /** List pairing codes */
  "devices.list_codes": {
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
    };
    answer: {
      readonly pagination: Pagination;
      readonly pairing_codes: readonly PairingCode[];
    };
  };
  /** Start pairing a device */
  "devices.pair": {
    body: {
      readonly device_name: string;
      readonly pairing_code: string;
    };
    answer: {
      /** The name that its agent will have: `device_name` in the form of names, with a number if another agent has it. */
      readonly agent_name: string;
      readonly device_id: string;
      readonly token: string;
      readonly token_expires_at: string;
      readonly trust_status: TrustStatus;
    };
  };
  /** Get a device's trust state */
  "devices.trust": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    answer: {
      readonly device_id: string;
      readonly name: string;
      readonly reasons: readonly ({
        readonly at: string | null;
        readonly code: string;
        readonly message: string;
      })[];
      readonly trust_status: TrustStatus;
      readonly trusted: boolean;
    };
  };
  /** Poll for webhook events, oldest first */
  "events.pull": {
    query?: {
      /** The `next` of the previous response. */
      readonly since?: number | undefined;
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** Event types, separated by commas. */
      readonly types?: string | undefined;
    };
    answer: {
      readonly events: readonly PulledEvent[];
      readonly has_more: boolean;
      /** The sequence number of the newest event. */
      readonly head: number;
      /** The sequence number of the last event examined. */
      readonly next: number;
    };
  };
  /** Cancel a fleet command */
  "fleet_commands.cancel": {
    params: {
      /** The fleet command's id. */
      readonly id: string;
    };
    body: Readonly<Record<string, never>>;
    answer: FleetCommand;
  };
  /** Get a fleet command's totals and a page of its commands */
  "fleet_commands.get": {
    params: {
      /** The fleet command's id. */
      readonly id: string;
    };
    query?: {
      /** Commands with one of these statuses, separated by commas. */
      readonly status?: string | undefined;
      /** Commands that ended at this time or later; UTC unless a zone is given. To read only what is new, send the last `finished_at` that you have read, less 2 s. */
      readonly ended_since?: string | undefined;
      /** Show the output of each ended command, if it is at most 8 KiB. */
      readonly output?: "true" | undefined;
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The `cursor` of the previous response. */
      readonly cursor?: string | undefined;
    };
    answer: FleetCommandPage;
  };
  /** Start a command on many agents */
  "fleet_commands.start": {
    body: {
      /** The alert that the command answers. Their events then have the same `thread`. */
      readonly alert_id?: string | undefined;
      /** Every agent. */
      readonly all?: true | undefined;
      /** A command line for the agent's shell. */
      readonly command: string;
      /** Agents that have all of these labels. */
      readonly labels?: Readonly<Record<string, string>> | undefined;
      /** These agents, by name or id. */
      readonly names?: readonly string[] | undefined;
      /** How many of the commands run at once. */
      readonly parallel?: number | undefined;
      /** After so many commands failed, timed out or were lost, no further one starts. */
      readonly stop_after_failures?: number | undefined;
      /** Seconds that the command may run; Relay then ends it. */
      readonly timeout?: number | undefined;
      /** Seconds to wait for the end of all; 0 responds at once. */
      readonly wait?: number | undefined;
    };
    answer: FleetCommand;
  };
  /** Adopt a suspended Git repository */
  "gitops.adopt_repository": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    answer: Repository;
  };
  /** Apply the policies of a branch */
  "gitops.apply": {
    body: {
      /** The branch with the policies. */
      readonly branch: string;
      /** The head that the branch must have, such as the `commit` of a plan. With another head the answer is 409. */
      readonly commit?: string | undefined;
      /** Return the plan and write nothing. */
      readonly dry_run?: boolean | undefined;
      /** A file or a folder of policy files; empty for the whole repository. */
      readonly policy_path: string;
      /** Also judge this many of the last commands by the resulting policies, and show what changes. */
      readonly replay?: number | undefined;
      /** The HTTPS clone address. */
      readonly repo_url: string;
    };
    answer: PolicyApply;
  };
  /** Back up an agent's configuration */
  "gitops.backup": {
    params: {
      /** The agent's id or its name. */
      readonly agent_id: string;
    };
    body: Readonly<Record<string, never>>;
    answer: Backup;
  };
  /** Register a Git repository */
  "gitops.create_repository": {
    body: {
      /** The branch with the policies. */
      readonly branch?: string | undefined;
      readonly name: string;
      readonly password?: string | undefined;
      /** A file or a folder of policy files; empty for the whole repository. */
      readonly policy_path?: string | undefined;
      readonly provider: GitProvider;
      /** How often to fetch and apply new commits, in seconds; null applies only after a signed push. */
      readonly sync_seconds?: number | null | undefined;
      /** An access token of the Git host. */
      readonly token?: string | undefined;
      /** The HTTPS clone address. */
      readonly url: string;
      /** The user name, with `password`, instead of a token. */
      readonly username?: string | undefined;
      /** The secret that the Git host signs its pushes with, or sends with them. With one, unsigned pushes are ignored; without one, a push only sets `pending`. */
      readonly webhook_secret?: string | undefined;
    };
    answer: Repository;
  };
  /** Remove a Git repository */
  "gitops.delete_repository": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    query?: {
      /** `delete` also ends the policies from this repository. */
      readonly policies?: "delete" | undefined;
    };
    answer: undefined;
  };
  /** Compare two versions of a policy */
  "gitops.diff": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    query: {
      /** The earlier version number. */
      readonly from: string;
      /** The later version number. */
      readonly to: string;
    };
    answer: {
      readonly changes: readonly PolicyChange[];
      readonly from: string;
      readonly policy_id: string;
      readonly to: string;
    };
  };
  /** Get the drift of an agent's configuration */
  "gitops.drift": {
    params: {
      /** The agent's id or its name. */
      readonly agent_id: string;
    };
    answer: Drift;
  };
  /** Get a policy in force */
  "gitops.get_policy": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    answer: GitPolicyDocument;
  };
  /** Get a Git repository */
  "gitops.get_repository": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    answer: Repository;
  };
  /** Get a version of a policy */
  "gitops.get_version": {
    params: {
      /** An opaque id. */
      readonly id: string;
      /** An opaque id. */
      readonly version: string;
    };
    answer: PolicyVersionDocument;
  };
  /** Get the safeguards of an agent */
  "gitops.guard": {
    params: {
      /** The agent's id or its name. */
      readonly agent_id: string;
    };
    answer: Guard;
  };
  /** List the backups of an agent's configuration */
  "gitops.list_backups": {
    params: {
      /** The agent's id or its name. */
      readonly agent_id: string;
    };
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
    };
    answer: {
      readonly backups: readonly Backup[];
      readonly pagination: Pagination;
    };
  };
  /** List the policies in force */
  "gitops.list_policies": {
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
    };
    answer: {
      readonly pagination: Pagination;
      readonly policies: readonly GitPolicy[];
      /** The version of the whole set of policies; empty for none. */
      readonly version: string;
    };
  };
  /** List Git repositories */
  "gitops.list_repositories": {
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
    };
    answer: {
      readonly pagination: Pagination;
      readonly repositories: readonly Repository[];
    };
  };
  /** List the restores of an agent's configuration */
  "gitops.list_restores": {
    params: {
      /** The agent's id or its name. */
      readonly agent_id: string;
    };
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
    };
    answer: {
      readonly pagination: Pagination;
      readonly restores: readonly Restore[];
    };
  };
  /** List policy versions, newest first */
  "gitops.list_versions": {
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
      /** Versions of this policy. */
      readonly policy_id?: string | undefined;
    };
    answer: {
      readonly pagination: Pagination;
      readonly versions: readonly PolicyVersion[];
    };
  };
  /** Restore an agent's configuration from a backup */
  "gitops.restore": {
    params: {
      /** The agent's id or its name. */
      readonly agent_id: string;
    };
    body: {
      /** An opaque id. */
      readonly backup_id: string;
      /** Only report what would change. */
      readonly dry_run?: boolean | undefined;
    };
    answer: Restore;
  };
  /** Roll a policy back and pin it */
  "gitops.rollback": {
    body: {
      /** An opaque id. */
      readonly policy_id: string;
      /** The version number. */
      readonly version: string;
    };
    answer: GitPolicy;
  };
  /** Unpin a policy */
  "gitops.unpin": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    body: Readonly<Record<string, never>>;
    answer: GitPolicy;
  };
  /** Get the system's health */
  "health.detail": { answer: Health };
  /** Check liveness */
  "health.live": {
    answer: {
      readonly status: "ok";
    };
  };
  /** Get metrics in the Prometheus text format */
  "health.metrics": { answer: string };
  /** Adopt a suspended ingest token */
  "ingest_tokens.adopt": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    answer: NewIngestToken;
  };
  /** Create an ingest token */
  "ingest_tokens.create": {
    body: {
      readonly name: string;
      readonly purpose: IngestPurpose;
    };
    answer: NewIngestToken;
  };
  /** Delete an ingest token */
  "ingest_tokens.delete": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    answer: undefined;
  };
  /** List ingest tokens */
  "ingest_tokens.list": {
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
    };
    answer: {
      readonly ingest_tokens: readonly IngestToken[];
      readonly pagination: Pagination;
    };
  };
  /** Adopt a suspended integration */
  "integrations.adopt": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    answer: Integration;
  };
  /** List the integration catalog */
  "integrations.catalog": {
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
    };
    answer: {
      readonly catalog: readonly CatalogEntry[];
      readonly pagination: Pagination;
    };
  };
  /** Remove an integration */
  "integrations.delete": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    answer: undefined;
  };
  /** Install an integration */
  "integrations.install": {
    body: {
      readonly config?: Readonly<Record<string, unknown>> | undefined;
      readonly name?: string | undefined;
      readonly type: IntegrationType;
    };
    answer: Integration;
  };
  /** List installed integrations, newest first */
  "integrations.list": {
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
    };
    answer: {
      readonly integrations: readonly Integration[];
      readonly pagination: Pagination;
    };
  };
  /** Begin an OAuth flow */
  "integrations.oauth_begin": {
    body: {
      /** An opaque id. */
      readonly integration_id: string;
      /** Whether the callback sends the browser to the console, instead of JSON. */
      readonly to_console?: boolean | undefined;
    };
    answer: {
      readonly authorize_url: string;
      readonly expires_at: string;
      readonly state: string;
    };
  };
  /** Complete an OAuth flow */
  "integrations.oauth_callback": {
    query?: {
      /** The state from begin. */
      readonly state?: string | undefined;
      /** The authorization code. */
      readonly code?: string | undefined;
      /** The issuer (RFC 9207). */
      readonly iss?: string | undefined;
      /** The provider's error, such as `access_denied`. */
      readonly error?: string | undefined;
    };
    answer: Integration;
  };
  /** Invite a user to the organization */
  "invitations.create": {
    body: {
      readonly email?: string | undefined;
      readonly expires_days?: number | undefined;
      readonly roles?: readonly string[] | undefined;
    };
    answer: {
      readonly accepted_at: string | null;
      readonly accepted_by: string | null;
      readonly created_at: string;
      readonly email: string | null;
      readonly expires_at: string;
      readonly id: string;
      readonly invite_code: string;
      readonly invited_by: string;
      /** What created it: an API key (`api_key`), a sign-in (`session`), an MCP client (`mcp_grant`) or another issuer (`issuer`, by address); null when an earlier version of Relay did not record it. */
      readonly invited_with: CreatedWith | null;
      readonly roles: readonly string[];
      readonly status: InvitationStatus;
      /** The page that accepts it. Without RELAY_PUBLIC_URL it is relative. */
      readonly url: string;
    };
  };
  /** List the organization's invitations, newest first */
  "invitations.list": {
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
    };
    answer: {
      readonly invitations: readonly Invitation[];
      readonly pagination: Pagination;
    };
  };
  /** Show what an invitation is to */
  "invitations.read": {
    body: {
      readonly invite_code: string;
    };
    answer: {
      /** The only email that may accept it; null for any. */
      readonly email: string | null;
      readonly expires_at: string;
      readonly organization: string;
      readonly roles: readonly string[];
    };
  };
  /** Withdraw an invitation */
  "invitations.withdraw": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    answer: undefined;
  };
  /** Get the limits of a key or organization */
  "limits.get": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    answer: LimitState;
  };
  /** Set the limits of a key or organization */
  "limits.set": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    body: {
      readonly burst_per_10_seconds?: number | null | undefined;
      readonly max_concurrent?: number | null | undefined;
      readonly mcp_calls_per_minute?: number | null | undefined;
      readonly requests_per_minute?: number | null | undefined;
      readonly webhook_deliveries_per_minute?: number | null | undefined;
    };
    answer: LimitState;
  };
  /** Let an MCP client act for you, or refuse it */
  "mcp_clients.decide": {
    body: {
      readonly approve: boolean;
      /** A registered client's id, or the address of a client's metadata document. */
      readonly client_id: string;
      readonly code_challenge: string;
      readonly code_challenge_method: "S256";
      readonly redirect_uri: string;
      /** The MCP address that the tokens are for; `/mcp` of this relay when absent. */
      readonly resource?: string | undefined;
      readonly response_type: "code";
      /** Scopes, separated by spaces; all when absent. Unknown ones are left out. */
      readonly scope?: string | undefined;
      /** Those that the client gets; all that it asks for when absent. */
      readonly scopes?: readonly Scope[] | undefined;
      /** The space that the client works in. */
      readonly space?: Space | undefined;
      readonly state?: string | undefined;
    };
    answer: {
      /** Where the browser goes now. */
      readonly redirect_to: string;
    };
  };
  /** End an MCP client that acts for you */
  "mcp_clients.end": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    answer: undefined;
  };
  /** List the MCP clients that act for you, newest first */
  "mcp_clients.list": {
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
    };
    answer: {
      readonly clients: readonly McpClient[];
      readonly pagination: Pagination;
    };
  };
  /** Show what an MCP client asks for */
  "mcp_clients.read_request": {
    body: {
      /** A registered client's id, or the address of a client's metadata document. */
      readonly client_id: string;
      readonly code_challenge: string;
      readonly code_challenge_method: "S256";
      readonly redirect_uri: string;
      /** The MCP address that the tokens are for; `/mcp` of this relay when absent. */
      readonly resource?: string | undefined;
      readonly response_type: "code";
      /** Scopes, separated by spaces; all when absent. Unknown ones are left out. */
      readonly scope?: string | undefined;
      readonly state?: string | undefined;
    };
    answer: McpConsent;
  };
  /** List orders */
  "orders.list": {
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
    };
    answer: {
      readonly orders: readonly Order[];
      readonly pagination: Pagination;
    };
  };
  /** List the shield's rules by pack */
  "patterns.list": {
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
    };
    answer: PatternList;
  };
  /** Switch rule packs or rules on or off, or let them only watch */
  "patterns.switch": { body: PatternChange; answer: PatternList };
  /** Create a plan */
  "plans.create": {
    body: {
      readonly currency?: string | undefined;
      /** The features, in words. */
      readonly features: readonly string[];
      readonly name: string;
      /** The price of a month, in units of the currency. */
      readonly price: number;
      /** Shared by all keys and users of an account; null means unlimited. */
      readonly requests_per_minute?: number | null | undefined;
    };
    answer: Plan;
  };
  /** Delete a plan that no account has */
  "plans.delete": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    answer: undefined;
  };
  /** List plans */
  "plans.list": {
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
    };
    answer: {
      readonly pagination: Pagination;
      readonly plans: readonly Plan[];
    };
  };
  /** Change a plan */
  "plans.update": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    body: {
      /** The number of accounts with this plan; null except for the host. */
      readonly accounts?: number | null | undefined;
      readonly created_at?: string | undefined;
      readonly currency?: string | undefined;
      /** The features, in words. */
      readonly features?: readonly string[] | undefined;
      readonly id?: string | undefined;
      readonly limit_source?: LimitSource | undefined;
      readonly name?: string | undefined;
      /** The price of a month, in units of the currency. */
      readonly price?: number | undefined;
      /** Shared by all keys and users of an account; null or 2147483647 means unlimited. */
      readonly requests_per_minute?: number | null | 2147483647 | undefined;
      readonly updated_at?: string | undefined;
    };
    answer: Plan;
  };
  /** Receive alerts from Prometheus Alertmanager */
  "receivers.alertmanager": {
    query?: {
      /** The ingest token, for senders that cannot set headers. */
      readonly token?: string | undefined;
    };
    body: {
      /** The alerts, as in version 4 of Alertmanager's webhook format. */
      readonly alerts?: unknown | undefined;
      /** `firing` or `resolved`. */
      readonly status?: unknown | undefined;
    };
    answer: Accepted;
  };
  /** Receive an alert in a generic format */
  "receivers.generic": {
    query?: {
      /** The ingest token, for senders that cannot set headers. */
      readonly token?: string | undefined;
    };
    body: {
      /** What happened; becomes the alert's name. */
      readonly event?: unknown | undefined;
      /** An object with the alert's other fields, as for the import. */
      readonly payload?: unknown | undefined;
    };
    answer: Accepted;
  };
  /** Receive a push from a Git host */
  "receivers.git": {
    body: {
      /** `push`; other events are ignored. */
      readonly event?: unknown | undefined;
      /** The address or the path, or the Git host's own object. */
      readonly repository?: unknown | undefined;
    };
    answer: Accepted;
  };
  /** Receive an update from a Telegram bot */
  "receivers.telegram": {
    body: {
      /** In an Update: the pressed button. */
      readonly callback_query?: unknown | undefined;
      /** In the short form: the private chat. */
      readonly chat_id?: unknown | undefined;
      /** In an Update: the message. In the short form: its text. */
      readonly message?: unknown | undefined;
      /** In an Update: its number, which identifies repetitions. */
      readonly update_id?: unknown | undefined;
    };
    answer: Accepted | TelegramMessage | TelegramAnswer;
  };
  /** Assign a role to a user */
  "roles.assign": {
    params: {
      /** The name of a role. */
      readonly name: string;
    };
    body: RoleMember;
    answer: RolesOfUser;
  };
  /** Create a role */
  "roles.create": {
    body: {
      /** The name of a role. */
      readonly name: string;
      /** Scopes, or `all`. */
      readonly permissions: readonly Permission[];
    };
    answer: Role;
  };
  /** Delete an unassigned role */
  "roles.delete": {
    params: {
      /** The name of a role. */
      readonly name: string;
    };
    answer: undefined;
  };
  /** List all roles */
  "roles.list": {
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
    };
    answer: {
      readonly pagination: Pagination;
      readonly roles: readonly Role[];
    };
  };
  /** Get a user's roles and permissions */
  "roles.of_user": {
    params: {
      /** An opaque id. */
      readonly user_id: string;
    };
    answer: RolesOfUser;
  };
  /** Get a role */
  "roles.read": {
    params: {
      /** The name of a role. */
      readonly name: string;
    };
    answer: Role;
  };
  /** Revoke a role from a user */
  "roles.revoke": {
    params: {
      /** The name of a role. */
      readonly name: string;
    };
    body: RoleMember;
    answer: RolesOfUser;
  };
  /** Replace the permissions of a role */
  "roles.update": {
    params: {
      /** The name of a role. */
      readonly name: string;
    };
    body: {
      readonly built_in?: boolean | undefined;
      readonly created_at?: string | null | undefined;
      readonly created_by?: string | null | undefined;
      readonly name?: string | undefined;
      /** Scopes, or `all`. */
      readonly permissions: readonly Permission[];
      readonly updated_at?: string | null | undefined;
    };
    answer: Role;
  };
  /** List all scopes */
  "scopes.list": {
    answer: {
      readonly scopes: readonly ScopeInfo[];
    };
  };
  /** Enable the second factor with a first code */
  "second_factor.confirm": {
    body: AuthenticatorCode;
    answer: {
      /** Each code works for one sign-in. */
      readonly recovery_codes: readonly string[];
      readonly sessions_ended: number;
    };
  };
  /** Disable the second factor */
  "second_factor.disable": { body: AuthenticatorCode; answer: SecondFactor };
  /** Create a TOTP secret for your authenticator */
  "second_factor.enrol": {
    body: {
      readonly password: string;
    };
    answer: {
      /** The secret in Base32. */
      readonly secret: string;
      /** An `otpauth://` URI, for a QR code. */
      readonly uri: string;
    };
  };
  /** Get the state of your second factor */
  "second_factor.read": { answer: SecondFactor };
  /** Replace your recovery codes */
  "second_factor.recovery_codes": {
    body: AuthenticatorCode;
    answer: {
      /** Each code works for one sign-in. */
      readonly recovery_codes: readonly string[];
    };
  };
  /** Require a second factor in the organization */
  "second_factor.require": {
    body: {
      readonly required: boolean;
    };
    answer: {
      readonly required: boolean;
    };
  };
  /** List stored secrets without their values */
  "secrets.list": {
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
    };
    answer: {
      readonly pagination: Pagination;
      readonly secrets: readonly Secret[];
    };
  };
  /** Test every layer of the shield */
  "shield.canary": {
    body: {
      /** The agent's id or its name. */
      readonly agent_id?: string | undefined;
    };
    answer: CanaryReport;
  };
  /** Change the shield's settings */
  "shield.change": {
    body: {
      /** Modes of individual agents, by agent id. */
      readonly agent_modes?: Readonly<Record<string, ShieldMode>> | undefined;
      readonly approvals?: {
        /** How long a request waits for a decision, in seconds. */
        readonly expires_seconds?: number | undefined;
        /** The number of people who must approve. */
        readonly required?: number | undefined;
        /** The roles that may decide; empty means any. */
        readonly roles?: readonly string[] | undefined;
        /** Whether requesters may approve their own requests. Allowing it awaits a second administrator, if there is one. */
        readonly self_approval?: boolean | undefined;
      } | undefined;
      /** `enforce` applies the verdicts; the other modes let commands pass and record the verdict. */
      readonly mode?: ShieldMode | undefined;
      /** How the built-in rules are switched, as in `/api/v1/patterns`. */
      readonly patterns?: {
        readonly disabled_packs: readonly string[];
        readonly disabled_rules: readonly string[];
        readonly watched_packs: readonly string[];
        readonly watched_rules: readonly string[];
      } | undefined;
      /** The request to allow self-approval, while it awaits a second administrator. */
      readonly pending_self_approval?: PendingSelfApproval | null | undefined;
      readonly policy?: ShieldPolicyInput | null | undefined;
      readonly policy_version?: string | undefined;
    };
    answer: ShieldSettings;
  };
  /** Confirm self-approval as a second administrator */
  "shield.confirm_self_approval": { body: SelfApprovalDecision; answer: ShieldSettings };
  /** Evaluate commands without running them */
  "shield.evaluate": {
    body: {
      /** Command lines to judge separately. */
      readonly commands?: readonly string[] | undefined;
      /** The labels of the target agent. */
      readonly labels?: Readonly<Record<string, string>> | undefined;
      /** Switches of built-in rules, on top of those in the settings. */
      readonly patterns?: PatternChange | undefined;
      /** The policy to judge by; by default the one in force, null for none. */
      readonly policy?: ShieldPolicyInput | null | undefined;
      /** The number of recent audited commands to judge by `policy` or `patterns`. */
      readonly replay?: number | undefined;
    };
    answer: Evaluation | Replay;
  };
  /** Refuse or withdraw self-approval */
  "shield.refuse_self_approval": { body: SelfApprovalDecision; answer: ShieldSettings };
  /** Get the shield's settings */
  "shield.settings": { answer: ShieldSettings };
  /** List subscriptions */
  "subscriptions.list": {
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
    };
    answer: {
      readonly pagination: Pagination;
      readonly subscriptions: readonly Subscription[];
    };
  };
  /** Create a code that links your Telegram account */
  "telegram_links.create": {
    body: Readonly<Record<string, never>>;
    answer: {
      readonly code: string;
      readonly expires_at: string;
      readonly message: string;
    };
  };
  /** Delete one of your Telegram links */
  "telegram_links.delete": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    answer: undefined;
  };
  /** List your Telegram links */
  "telegram_links.list": {
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
    };
    answer: {
      readonly pagination: Pagination;
      readonly telegram_links: readonly TelegramLink[];
    };
  };
  /** Reactivate a user */
  "users.activate": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    body: Readonly<Record<string, never>>;
    answer: User;
  };
  /** Deactivate a user */
  "users.deactivate": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    body: Readonly<Record<string, never>>;
    answer: User;
  };
  /** List the organization's users */
  "users.list": {
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
    };
    answer: {
      readonly pagination: Pagination;
      readonly users: readonly User[];
    };
  };
  /** Create a link that resets a user's password */
  "users.reset_password": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    body: Readonly<Record<string, never>>;
    answer: {
      readonly expires_at: string;
      readonly token: string;
      /** The page that takes the new password. Without RELAY_PUBLIC_URL it is relative. */
      readonly url: string;
    };
  };
  /** Adopt a suspended webhook */
  "webhooks.adopt": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    answer: Webhook;
  };
  /** Cancel a recovery */
  "webhooks.cancel_recovery": {
    params: {
      /** An opaque id. */
      readonly id: string;
      /** An opaque id. */
      readonly recovery_id: string;
    };
    body: Readonly<Record<string, never>>;
    answer: WebhookRecovery;
  };
  /** Create a webhook */
  "webhooks.create": {
    body: {
      /** False holds deliveries until the webhook is enabled. */
      readonly active?: boolean | undefined;
      readonly events: readonly WebhookEventType[];
      /** Your own headers, sent with each delivery. */
      readonly headers?: Readonly<Record<string, string>> | undefined;
      readonly name: string;
      readonly retry_policy?: {
        /** Disables the webhook when the last attempt of a delivery fails. */
        readonly auto_disable?: boolean | undefined;
        /** Each delay is the previous one times this factor. */
        readonly backoff_multiplier?: number | undefined;
        /** Disables the webhook when the receiver returns 410. */
        readonly disable_on_gone?: boolean | undefined;
        /** The delay before the second attempt, in seconds. */
        readonly initial_delay_seconds?: number | undefined;
        /** The maximum delay, in seconds. */
        readonly max_delay_seconds?: number | undefined;
        /** The maximum number of attempts, including the first. */
        readonly max_retries?: number | undefined;
        /** Waits at least as long as the receiver's Retry-After asks. */
        readonly respect_retry_after?: boolean | undefined;
        /** The deadline from the name look-up to the response headers, in seconds. */
        readonly timeout_seconds?: number | undefined;
      } | undefined;
      /** The shared secret that signs deliveries. */
      readonly secret?: string | undefined;
      readonly url: string;
    };
    answer: NewWebhook;
  };
  /** Delete a webhook */
  "webhooks.delete": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    answer: undefined;
  };
  /** List deliveries, newest first */
  "webhooks.deliveries": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
      /** Deliveries with this status. */
      readonly status?: DeliveryStatus | undefined;
      /** Deliveries of events of this type. */
      readonly event_type?: DeliveryEventType | undefined;
      /** Deliveries that are held, or not held. */
      readonly held?: Flag | undefined;
      /** Created at or after this time or date; UTC unless a zone is given. */
      readonly since?: string | undefined;
      /** Created before this time, or before the start of this date. */
      readonly until?: string | undefined;
    };
    answer: {
      readonly deliveries: readonly Delivery[];
      readonly pagination: Pagination;
    };
  };
  /** Get a delivery with its attempts */
  "webhooks.delivery": {
    params: {
      /** An opaque id. */
      readonly id: string;
      /** An opaque id. */
      readonly del_id: string;
    };
    answer: DeliveryDetail;
  };
  /** Disable a webhook */
  "webhooks.disable": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    body: Readonly<Record<string, never>>;
    answer: Webhook;
  };
  /** Enable a webhook */
  "webhooks.enable": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    body: {
      readonly held?: "deliver" | "discard" | {
        readonly since: string;
      } | undefined;
    };
    answer: Webhook;
  };
  /** List webhook event types */
  "webhooks.event_types": {
    answer: {
      readonly event_types: readonly {
        readonly category: string;
        readonly description: string;
        readonly example: Readonly<Record<string, unknown>>;
        readonly name: string;
        /** The JSON Schema of the payload. */
        readonly schema: Readonly<Record<string, unknown>>;
        /** The scope that the webhook's creator needs to receive it. */
        readonly scope: string;
      }[];
    };
  };
  /** Get a webhook */
  "webhooks.get": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    answer: Webhook;
  };
  /** List webhooks */
  "webhooks.list": {
    query?: {
      /** The maximum number of entries. */
      readonly limit?: number | undefined;
      /** The number of entries to skip. */
      readonly offset?: number | undefined;
    };
    answer: {
      readonly pagination: Pagination;
      readonly webhooks: readonly Webhook[];
    };
  };
  /** Resend failed and held deliveries */
  "webhooks.recover": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    body: {
      readonly dry_run?: boolean | undefined;
      readonly since: string;
      /** The deliveries to send: `failed` await their next attempt, `exhausted` failed for good, `held` wait for the webhook to be enabled. */
      readonly status?: readonly ("failed" | "exhausted" | "held")[] | undefined;
      readonly until?: string | undefined;
    };
    answer: WebhookRecoveryStart;
  };
  /** Get the progress of a recovery */
  "webhooks.recovery": {
    params: {
      /** An opaque id. */
      readonly id: string;
      /** An opaque id. */
      readonly recovery_id: string;
    };
    answer: WebhookRecovery;
  };
  /** Resend a delivery */
  "webhooks.resend": {
    params: {
      /** An opaque id. */
      readonly id: string;
      /** An opaque id. */
      readonly del_id: string;
    };
    body: Readonly<Record<string, never>>;
    answer: Delivery;
  };
  /** Send a test event to a webhook */
  "webhooks.test": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    body: {
      readonly event_type?: DeliveryEventType | undefined;
    };
    answer: Delivery;
  };
  /** Update a webhook */
  "webhooks.update": {
    params: {
      /** An opaque id. */
      readonly id: string;
    };
    body: {
      /** True enables the webhook and sends held deliveries; false disables it. */
      readonly active?: boolean | undefined;
      /** The user with whose present rights it acts: its creator, or the user who adopted it. */
      readonly acts_for?: string | undefined;
      readonly created_at?: string | undefined;
      /** What created it: an API key (`api_key`), a sign-in (`session`), an MCP client (`mcp_grant`) or another issuer (`issuer`, by address); null when an earlier version of Relay did not record it. */
      readonly created_with?: CreatedWithInput | null | undefined;
      /** The same as `headers`; give one of them. */
      readonly custom_headers?: Readonly<Record<string, string>> | undefined;
      /** The number of completed attempts. */
      readonly delivery_count?: number | undefined;
      readonly events?: readonly WebhookEventType[] | undefined;
      /** Your own headers, sent with each delivery. */
      readonly headers?: Readonly<Record<string, string>> | undefined;
      readonly id?: string | undefined;
      /** When the latest attempt completed. */
      readonly last_delivery_at?: string | null | undefined;
      readonly name?: string | undefined;
      /** Until this time the previous secret signs too. */
      readonly previous_secret_ends_at?: string | null | undefined;
      /** The recovery that sends the held deliveries after the webhook was last enabled. */
      readonly release_id?: string | null | undefined;
      readonly retry_policy?: {
        /** Disables the webhook when the last attempt of a delivery fails. */
        readonly auto_disable?: boolean | undefined;
        /** Each delay is the previous one times this factor. */
        readonly backoff_multiplier?: number | undefined;
        /** Disables the webhook when the receiver returns 410. */
        readonly disable_on_gone?: boolean | undefined;
        /** The delay before the second attempt, in seconds. */
        readonly initial_delay_seconds?: number | undefined;
        /** The maximum delay, in seconds. */
        readonly max_delay_seconds?: number | undefined;
        /** The maximum number of attempts, including the first. */
        readonly max_retries?: number | undefined;
        /** Waits at least as long as the receiver's Retry-After asks. */
        readonly respect_retry_after?: boolean | undefined;
        /** The deadline from the name look-up to the response headers, in seconds. */
        readonly timeout_seconds?: number | undefined;
      } | undefined;
      /** The shared secret that signs deliveries. */
      readonly secret?: string | undefined;
      /** Null while the user has all the rights that it needs. */
      readonly suspended?: Suspension | null | undefined;
      readonly url?: string | undefined;
    };
    answer: Webhook;
  };
}

/** Operations that answer with a stream of events, by id. */
export interface Streams {
  /** Read or follow a command's output */
  "commands.output": {
    params: {
      /** The agent's id or its name. */
      readonly id: string;
      /** The command's id. */
      readonly command_id: string;
    };
    query?: {
      /** The offset to begin at. The header `Last-Event-ID` takes precedence. An offset within a character counts as its first byte. */
      readonly from?: number | undefined;
      /** The most bytes in a JSON response, or one character; a stream ignores it. */
      readonly max_bytes?: number | undefined;
    };
  };
  /** Stream events (server-sent events) */
  "events.stream": {
    query?: {
      /** Event types, `notification`, `command_started` or `changed`, separated by commas. Without it, a stream has all of them but `changed`. */
      readonly types?: string | undefined;
      /** The agent's id or its name. A deleted agent is found by its id only. */
      readonly agent_id?: string | undefined;
      /** The id of an alert: the story of that alert and of the commands that answer it. */
      readonly thread?: string | undefined;
      /** The minimum severity. */
      readonly severity?: Severity | undefined;
      /** The id to resume after; the header `Last-Event-ID` takes precedence. */
      readonly last_event_id?: string | undefined;
    };
  };
}

export interface Accepted {
  readonly accepted: true;
}

export interface Account {
  readonly active: boolean;
  readonly created_at: string;
  readonly host: boolean;
  readonly id: string;
  readonly name: string;
  readonly plan_id: string;
  readonly plan_name: string;
  /** The limit in force; 2147483647 means no limit. */
  readonly requests_per_minute: number;
  readonly users: number;
}

export interface AccountInfo {
  readonly credential: {
    readonly id: string;
    readonly type: "jwt" | "api_key";
  };
  readonly organization: Organization;
  readonly scopes: readonly Scope[];
  readonly space: Space;
  readonly user: {
    readonly created_at: string;
    readonly email: string;
    readonly id: string;
    readonly roles: readonly string[];
  };
}

export interface AccountSettings {
  /** A BCP 47 language tag. */
  readonly language: string;
  /** An IANA time zone name. */
  readonly timezone: string;
}

export interface ActivityFigures {
  /** Approval requests that people approved or rejected. */
  readonly approvals_decided: number;
  /** Responses with a 4xx status. */
  readonly client_errors: number;
  /** Commands by outcome: succeeded, failed, denied, timed_out, … */
  readonly commands: Readonly<Record<string, number>>;
  /** Webhook delivery attempts by result. */
  readonly deliveries: Readonly<Record<string, number>>;
  /** Denied commands by the rule that denied them. */
  readonly denials: Readonly<Record<string, number>>;
  /** The median time to these decisions, in seconds, at most 20 % too high; null without decisions. */
  readonly median_wait_seconds: number | null;
  readonly requests: number;
  /** Responses with a 5xx status. */
  readonly server_errors: number;
}

export interface ActivityRow {
  /** Approval requests that people approved or rejected. */
  readonly approvals_decided: number;
  /** Responses with a 4xx status. */
  readonly client_errors: number;
  /** Commands by outcome: succeeded, failed, denied, timed_out, … */
  readonly commands: Readonly<Record<string, number>>;
  /** Webhook delivery attempts by result. */
  readonly deliveries: Readonly<Record<string, number>>;
  /** Denied commands by the rule that denied them. */
  readonly denials: Readonly<Record<string, number>>;
  /** The median time to these decisions, in seconds, at most 20 % too high; null without decisions. */
  readonly median_wait_seconds: number | null;
  readonly requests: number;
  /** Responses with a 5xx status. */
  readonly server_errors: number;
  readonly start: string;
}

export interface Agent {
  /** What the agent reported with its newest link that its program may do. */
  readonly capabilities: readonly AgentCapability[];
  /** When its newest link began; kept after that link has ended. */
  readonly connected_at: string | null;
  readonly created_at: string;
  /** The name that it was to have, if that does not fit the pattern of names or belonged to another agent. */
  readonly display_name: string | null;
  readonly hostname: string;
  readonly id: string;
  /** The labels in force, for policies and filters: `reported_labels`, overridden by `relay_labels`. */
  readonly labels: Readonly<Record<string, string>>;
  readonly last_seen_at: string | null;
  /** Unique in its space. Paths take it in place of the id. */
  readonly name: string;
  /** True when the relay's own version is newer. */
  readonly outdated: boolean;
  readonly platform: string;
  readonly policy_version: string | null;
  /** How its program is installed. Executables and bundles can be upgraded over the link. Null for versions that do not report it. */
  readonly program: ProgramForm | null;
  /** The labels of its pairing code and those set by PATCH. The agent cannot change them. */
  readonly relay_labels: Readonly<Record<string, string>>;
  /** The labels that the agent reports of itself. */
  readonly reported_labels: Readonly<Record<string, string>>;
  readonly reported_status: ReportedStatus | null;
  readonly status: AgentStatus;
  readonly version: string;
}

/** `upgrade`: the relay can replace the program over the link. `key_handover`: the agent follows a rotation of the verdict key by itself. */
export type AgentCapability = "upgrade" | "key_handover";

export interface AgentList {
  readonly agents: readonly Agent[];
  readonly pagination: Pagination;
}

export type AgentStatus = "online" | "degraded" | "offline";

/** `deleted`: the agent was asked, and deleted since. */
export type AgentUpgradeStatus = "waiting" | "running" | "complete" | "failed" | "deleted";

export interface Alert {
  readonly acknowledged_at: string | null;
  /** The user or API key that acknowledged it since it last became active. */
  readonly acknowledged_by: string | null;
  readonly agent_id: string | null;
  readonly alert_id: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** The number of times that it was reported as active. */
  readonly count: number;
  readonly ends_at: string | null;
  /** Identifies the alert within its source. */
  readonly fingerprint: string;
  readonly first_seen_at: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly last_seen_at: string;
  readonly name: string;
  readonly reason: string | null;
  readonly resolved_at: string | null;
  readonly resolved_by: string | null;
  readonly severity: Severity;
  readonly source: string;
  readonly starts_at: string;
  readonly state: AlertState;
  /** The alert's id, by which the audit log and streams filter its story. */
  readonly thread: string;
}

export interface AlertRemark {
  /** An opaque id. */
  readonly alert_id: string;
  /** The reason, for people and for the record. */
  readonly reason?: string | undefined;
}

export type AlertState = "active" | "resolved";

export interface ApiError {
  readonly error: {
    readonly code: ErrorCode;
    readonly details: ErrorDetails;
    /** What is wrong and what to do next, for people. */
    readonly message: string;
  };
}

export interface ApiKey {
  readonly created_at: string;
  readonly created_by: string;
  /** What created it: an API key (`api_key`), a sign-in (`session`), an MCP client (`mcp_grant`) or another issuer (`issuer`, by address); null when an earlier version of Relay did not record it. */
  readonly created_with: CreatedWith | null;
  readonly description: string;
  readonly expires_at: string;
  /** When the old value stops working, while the key is rotating. */
  readonly grace_period_ends: string | null;
  readonly id: string;
  /** The first characters; the whole value is shown only once. */
  readonly key: string;
  readonly last_used: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly name: string;
  /** Why it should be rotated; null when there is no reason. */
  readonly notice: string | null;
  readonly rate_limits: ApiKeyRateLimits;
  /** When it got its current value. */
  readonly rotated_at: string | null;
  readonly scopes: readonly Scope[];
  readonly status: ApiKeyStatus;
  readonly type: Space;
}

export interface ApiKeyExplanation {
  readonly allowed: boolean;
  readonly creator: {
    readonly active: boolean;
    readonly has_scope: boolean;
    readonly id: string;
    readonly roles: readonly string[];
  };
  readonly key: {
    readonly expires_at: string;
    readonly scopes: readonly Scope[];
    readonly space: Space;
    readonly status: ApiKeyStatus;
    readonly type: Space;
  };
  readonly key_id: string;
  readonly limits: {
    readonly key: {
      readonly burst_per_10_seconds: LimitLeft;
      readonly max_concurrent: LimitLeft;
      readonly mcp_calls_per_minute: LimitLeft;
      readonly requests_per_minute: LimitLeft;
      readonly webhook_deliveries_per_minute: LimitLeft;
    };
    readonly organization: {
      readonly requests_per_minute: LimitLeft;
    };
  };
  readonly organization: {
    readonly active: boolean;
    readonly id: string;
    readonly plan: string;
  };
  readonly reasons: readonly ({
    readonly check:
      | "key_status"
      | "key_scope"
      | "creator_active"
      | "creator_scope"
      | "organization_active";
    readonly message: string;
    readonly ok: boolean;
  })[];
  readonly scope: Scope;
}

export interface ApiKeyRateLimits {
  readonly max_concurrent: number;
  readonly mcp_calls_per_minute: number;
  readonly requests_per_minute: number;
}

export interface ApiKeyRateLimitsInput {
  readonly max_concurrent: number;
  readonly mcp_calls_per_minute: number;
  readonly requests_per_minute: number;
}

export interface ApiKeyRevocation {
  readonly created_at: string;
  readonly created_by: string;
  /** What created it: an API key (`api_key`), a sign-in (`session`), an MCP client (`mcp_grant`) or another issuer (`issuer`, by address); null when an earlier version of Relay did not record it. */
  readonly created_with: CreatedWith | null;
  readonly description: string;
  /** What was made with the key and has been ended. */
  readonly ended: readonly MadeWithApiKey[];
  readonly ended_total: number;
  readonly expires_at: string;
  /** When the old value stops working, while the key is rotating. */
  readonly grace_period_ends: string | null;
  readonly id: string;
  /** The first characters; the whole value is shown only once. */
  readonly key: string;
  readonly last_used: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly name: string;
  /** Why it should be rotated; null when there is no reason. */
  readonly notice: string | null;
  readonly rate_limits: ApiKeyRateLimits;
  /** When it got its current value. */
  readonly rotated_at: string | null;
  readonly scopes: readonly Scope[];
  readonly status: ApiKeyStatus;
  readonly type: Space;
  /** What was made with the key and still works. */
  readonly would_end: readonly MadeWithApiKey[];
  readonly would_end_total: number;
}

export interface ApiKeyRotation {
  readonly grace_period_ends: string;
  readonly id: string;
  readonly message: string;
  /** The whole new value; no other response shows it. */
  readonly new_key: string;
  /** The whole old value. */
  readonly old_key: string;
  /** `active` without a grace period. */
  readonly status: "rotating" | "active";
}

export type ApiKeyStatus = "active" | "rotating" | "expired" | "revoked";

export interface ApiKeyUsage {
  readonly avg_requests_per_day: number;
  /** False when the period begins before the retained figures. */
  readonly complete: boolean;
  readonly key_id: string;
  readonly last_used_at: string | null;
  readonly name: string;
  /** The first and the last UTC day of the figures. */
  readonly period: {
    readonly from: string;
    readonly to: string;
  };
  /** Requests refused with 429; no other figure counts them. */
  readonly rate_limit_hits: number;
  /** By hour for up to two days, otherwise by UTC day. */
  readonly series: readonly {
    readonly from: string;
    readonly mcp_calls: number;
    readonly rate_limit_hits: number;
    readonly requests: number;
  }[];
  readonly top_agents: readonly {
    readonly agent_id: string;
    readonly requests: number;
  }[];
  readonly top_endpoints: readonly {
    readonly calls: number;
    readonly endpoint: string;
  }[];
  readonly total_mcp_calls: number;
  /** Admitted requests, whatever their status. */
  readonly total_requests: number;
}

export interface Approval {
  /** Null for a fleet command. */
  readonly agent_id: string | null;
  /** The agents of a fleet command. `GET /api/v1/commands/{id}` lists them. */
  readonly agents?: ApprovedAgents | undefined;
  /** The alert that the command answers. */
  readonly alert_id?: string | undefined;
  readonly command: string;
  /** The command, or the fleet command whose held commands it covers. */
  readonly command_id: string;
  readonly command_sha256: string;
  /** Null for a fleet command. */
  readonly command_status: CommandStatus | null;
  readonly created_at: string;
  readonly decisions: readonly GivenDecision[];
  readonly expires_at: string;
  /** The console's page about it, as a path of the relay. A link to it decides nothing. */
  readonly page: string;
  /** The id of the blocked process. */
  readonly pid: string;
  readonly policy_version: string;
  readonly reason: string | null;
  /** The others who may hold the requesting credential; `*` means anyone. */
  readonly requested_also: readonly string[];
  readonly requested_by: string;
  /** The number of people who must approve. */
  readonly required: number;
  readonly resolved_at: string | null;
  /** The roles that may decide; empty means any. */
  readonly roles: readonly string[];
  readonly shield_result: ShieldResult;
  readonly status: ApprovalStatus;
  /** The alert whose story it belongs to. */
  readonly thread?: string | undefined;
}

export interface ApprovalConfirmation {
  /** Confirms your own request, as the only member that the organization ever had. It takes a sign-in of the last 15 minutes that is newer than the request. */
  readonly confirm_self_approval?: boolean | undefined;
  /** The reason, for people and for the record. */
  readonly reason?: string | undefined;
}

export interface ApprovalDecision {
  /** The reason, for people and for the record. */
  readonly reason?: string | undefined;
}

export type ApprovalStatus = "pending" | "approved" | "rejected" | "expired";

export interface ApprovedAgents {
  readonly count: number;
  /** SHA-256 of the agents' ids in ascending order, one a line. */
  readonly sha256: string;
}

export interface AuditCheckpoint {
  readonly note: string;
  readonly root_hash: string;
  readonly timestamp: string;
  readonly tree_size: number;
}

export interface AuditEvent {
  readonly actor: string;
  readonly agent_id?: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;
  readonly event_id: string;
  readonly event_type: string;
  /** The grant of the MCP client that acted for the actor. */
  readonly mcp_grant_id?: string | undefined;
  readonly organization_id: string;
  readonly request_id?: string | undefined;
  readonly resource_id: string;
  readonly resource_type: string;
  readonly seq: number;
  /** The span of that request. */
  readonly span_id?: string | undefined;
  /** The alert whose story it belongs to. */
  readonly thread?: string | undefined;
  readonly timestamp: string;
  /** The trace of the request that caused it. */
  readonly trace_id?: string | undefined;
}

export interface AuditPagination {
  readonly has_more: boolean;
  readonly limit: number;
  readonly offset: number;
  readonly total: number;
  /** True when more rows than `total` may match. */
  readonly total_is_at_least: boolean;
}

export type AuditResult = "success" | "failure" | "denied";

export interface AuthenticatorCode {
  /** A code from the authenticator. */
  readonly code: string;
}

export interface Backup {
  readonly agent_id: string;
  /** More than one when the link was lost. */
  readonly attempts: number;
  readonly bytes: number;
  readonly created_at: string;
  readonly created_by: string;
  /** The SHA-256 of the archive before compression. */
  readonly digest: string | null;
  readonly error: string | null;
  readonly files: number;
  readonly finished_at: string | null;
  readonly id: string;
  readonly reason: "requested" | "before_restore";
  /** The paths that the agent's operator listed. */
  readonly roots: readonly string[];
  readonly status: JobStatus;
  readonly stored_bytes: number;
}

/** What the caller may decide now. */
export interface CallerDecision {
  readonly may_approve: boolean;
  readonly may_reject: boolean;
  /** What the only member does to approve their own request. */
  readonly next: "sign_in" | "confirm" | "change_password" | null;
  /** Why the caller may not approve, and what to do next. */
  readonly why_not: string | null;
}

export interface CanaryReport {
  readonly agent: {
    readonly agent_id: string;
    readonly command_id: string | null;
    readonly passed: boolean;
    readonly reason: string | null;
    readonly status: string;
  } | null;
  /** The failed layers; `agent` stands for the command on the agent. */
  readonly failed: readonly string[];
  readonly layers: readonly ({
    readonly checks: number;
    readonly failures: readonly ({
      readonly command: string;
      readonly expected: "allow" | "approve" | "deny" | "stopped";
      readonly verdict: Verdict;
    })[];
    readonly layer: ShieldLayer;
    readonly passed: boolean;
    /** Commands that pass because the rules that would stop them are disabled or only watch. */
    readonly switched_off: readonly string[];
  })[];
  /** The organization's mode; it does not affect the checks. */
  readonly mode: ShieldMode;
  readonly status: CanaryStatus;
}

export type CanaryStatus = "passed" | "failed";

export interface CatalogEntry {
  readonly capabilities: readonly ("notifications" | "repositories" | "oauth")[];
  readonly category: "chat" | "incidents" | "issues" | "repositories" | "generic";
  /** The JSON Schema of `config`. */
  readonly config_schema: Readonly<Record<string, unknown>>;
  readonly description: string;
  readonly name: string;
  /** Fields that are stored encrypted and masked in responses. */
  readonly secrets: readonly string[];
  readonly type: IntegrationType;
}

export interface Command {
  readonly agent_id: string;
  /** The alert that it answers. */
  readonly alert_id?: string | undefined;
  /** The id of the blocked process that awaits a decision. */
  readonly approval_id: string | null;
  readonly command: string;
  readonly command_id: string;
  readonly created_at: string;
  readonly duration_ms: number | null;
  readonly exit_code: number | null;
  readonly finished_at: string | null;
  /** Present when the instance that runs the command did not answer: `stdout` and `stderr` are empty because the output so far is not known. Ask again. */
  readonly output_unavailable?: true | undefined;
  /** The fleet command that it belongs to. */
  readonly parent_id?: string | undefined;
  /** Why there is no result. */
  readonly reason: string | null;
  readonly shield_result: ShieldResult;
  readonly signal: string | null;
  readonly started_at: string | null;
  readonly status: CommandStatus;
  readonly stderr: string;
  readonly stdout: string;
  /** The alert whose story it belongs to. */
  readonly thread?: string | undefined;
  readonly truncated: boolean;
}

export interface CommandList {
  readonly commands: readonly ListedCommand[];
  /** Where the next page begins; null at the end. */
  readonly cursor: string | null;
}

export interface CommandOutput {
  readonly agent_id: string;
  /** In the order in which the output came; at most 256. */
  readonly chunks: readonly OutputChunk[];
  readonly command_id: string;
  /** True when the command has ended and nothing follows these chunks. */
  readonly complete: boolean;
  readonly exit_code: number | null;
  /** The `from` that continues after these chunks. */
  readonly next_offset: number;
  /** Why there is no result. */
  readonly reason: string | null;
  readonly signal: string | null;
  readonly status: CommandStatus;
  /** True when output was left out so far. */
  readonly truncated: boolean;
}

export type CommandStatus =
  | "queued"
  | "running"
  | "succeeded"
  | "failed"
  | "denied"
  | "pending_approval"
  | "rejected"
  | "expired"
  | "cancelled"
  | "timed_out"
  | "lost";

export interface ComplianceReport {
  readonly created_at: string;
  readonly finished_at: string | null;
  readonly id: string;
  /** Both ends are inclusive. */
  readonly period: {
    readonly asked: string;
    readonly from: string;
    readonly to: string;
  };
  readonly progress: {
    readonly rows_read: number;
    /** Null before the count begins. */
    readonly rows_total: number | null;
  };
  readonly requested_by: string;
  /** The SHA-256 of the finished report's canonical JSON, in hex. */
  readonly sha256: string | null;
  readonly status: "queued" | "running" | "completed" | "failed";
  readonly type: ReportType;
}

export interface Configuration {
  readonly loaded_at: string;
  readonly values: readonly ({
    readonly changes_by: "reload" | "restart" | "host";
    readonly path: string;
    readonly source: "default" | "file" | "environment" | "plan" | "override" | "configuration";
    /** Secrets are masked; null means unlimited or unset. */
    readonly value: unknown;
  })[];
}

export interface ConsoleSession {
  /** When the session ends unless it is used. */
  readonly expires_at: string;
  /** Present when the organization requires a second factor and the user has none: until one is set up, the token has no rights. */
  readonly second_factor?: "setup_required" | undefined;
}

export interface CreatedWith {
  readonly id: string;
  readonly kind: CredentialKind;
}

export interface CreatedWithInput {
  readonly id: string;
  readonly kind: CredentialKind;
}

export type CredentialKind = "api_key" | "session" | "issuer" | "mcp_grant";

export interface DashboardStats {
  readonly agents: {
    readonly degraded: number;
    readonly offline: number;
    readonly online: number;
    readonly total: number;
  };
  readonly approvals_waiting: number;
  readonly by_day: readonly ActivityRow[];
  readonly by_hour: readonly ActivityRow[];
  readonly generated_at: string;
  readonly last_24_hours: ActivityFigures;
  readonly last_30_days: ActivityFigures;
  readonly scope: "installation" | "organization";
}

export interface Delivery {
  readonly attempt: number;
  readonly created_at: string;
  readonly error: string | null;
  readonly event_id: string;
  readonly event_type: string;
  /** True when it failed and will not be attempted again. */
  readonly final: boolean;
  /** True while it waits for its webhook to be enabled. */
  readonly held: boolean;
  readonly http_status: number | null;
  readonly id: string;
  readonly next_attempt_at: string | null;
  /** The first 4 KiB of the response body. */
  readonly response_body: string;
  readonly response_time_ms: number | null;
  /** True when the response was longer than what is kept. */
  readonly response_truncated: boolean;
  readonly sent_at: string | null;
  readonly status: DeliveryStatus;
  /** True for a requested test. */
  readonly test: boolean;
  /** How long each phase took. Null before an attempt, and for one that was lost. */
  readonly timing_ms: Timing | null;
  readonly webhook_id: string;
}

export interface DeliveryDetail {
  readonly attempt: number;
  /** The newest 50 attempts, oldest first. */
  readonly attempts: readonly ({
    readonly error: string | null;
    readonly http_status: number | null;
    readonly number: number;
    /** The headers of this attempt's request, like `request.headers`. Its URL and body are those of `request`. */
    readonly request_headers: Readonly<Record<string, string>> | null;
    /** The first 4 KiB of the response body. */
    readonly response_body: string;
    readonly response_time_ms: number | null;
    readonly started_at: string | null;
    readonly status: DeliveryStatus;
    /** How long each phase took. Null before an attempt, and for one that was lost. */
    readonly timing_ms: Timing | null;
    readonly truncated: boolean;
  })[];
  readonly created_at: string;
  readonly error: string | null;
  readonly event_id: string;
  readonly event_type: string;
  /** True when it failed and will not be attempted again. */
  readonly final: boolean;
  /** True while it waits for its webhook to be enabled. */
  readonly held: boolean;
  readonly http_status: number | null;
  readonly id: string;
  readonly next_attempt_at: string | null;
  /** The latest attempt's request, with the URL, secret and headers that the webhook has now. Null for callers without the right to read the event. */
  readonly request: {
    /** The exact text that is sent and signed. */
    readonly body: string;
    /** Null before the first attempt. Signatures and values of your own headers are `********` for callers without secrets:read. X-Audit-Checkpoint is not kept. */
    readonly headers: Readonly<Record<string, string>> | null;
    readonly url: string;
  } | null;
  /** The first 4 KiB of the response body. */
  readonly response_body: string;
  readonly response_time_ms: number | null;
  /** True when the response was longer than what is kept. */
  readonly response_truncated: boolean;
  readonly sent_at: string | null;
  readonly status: DeliveryStatus;
  /** True for a requested test. */
  readonly test: boolean;
  /** How long each phase took. Null before an attempt, and for one that was lost. */
  readonly timing_ms: Timing | null;
  readonly webhook_id: string;
}

export type DeliveryEventType =
  | "ping"
  | "command_executed"
  | "command_denied"
  | "command_timeout"
  | "agent_connected"
  | "agent_disconnected"
  | "agent_health_changed"
  | "agent_created"
  | "agent_deleted"
  | "session_started"
  | "session_closed"
  | "session_timeout"
  | "policy_created"
  | "policy_updated"
  | "policy_deleted"
  | "approval_requested"
  | "approval_resolved"
  | "compliance_report_generated";

export type DeliveryStatus = "pending" | "sending" | "succeeded" | "failed" | "timed_out";

export interface Device {
  /** The agent that uses the device's credential. */
  readonly agent_id: string | null;
  /** The name of its agent, or the one that is reserved for it. */
  readonly agent_name: string | null;
  readonly confirmed_at: string | null;
  readonly created_at: string;
  /** The creator of the pairing code. */
  readonly created_by: string;
  /** What created it: an API key (`api_key`), a sign-in (`session`), an MCP client (`mcp_grant`) or another issuer (`issuer`, by address); null when an earlier version of Relay did not record it. */
  readonly created_with: CreatedWith | null;
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly last_seen_at: string | null;
  readonly name: string;
  /** The id of the code that paired it; null where an earlier version did. */
  readonly pairing_code_id: string | null;
  readonly trust_status: TrustStatus;
}

export interface DeviceLogin {
  /** The network address that the request came from. */
  readonly address: string;
  readonly created_at: string;
  /** The name that the terminal gave itself. */
  readonly device_name: string;
  readonly expires_at: string;
  readonly status: "pending" | "approved" | "denied";
}

export interface Drift {
  readonly agent_id: string;
  readonly drifted: boolean;
  readonly items: readonly ({
    /** For files: the last requested backup. */
    readonly applied: {
      readonly digest: string;
      readonly version: string;
    } | null;
    /** The audited action that caused it, if known. */
    readonly by: {
      readonly actor: string;
      readonly at: string;
      readonly event_id: string | null;
      readonly event_type: string;
    } | null;
    /** `policy:` and a name, or `files`. */
    readonly item: string;
    readonly kind: "policy" | "files";
    readonly reported: {
      readonly digest: string;
    } | null;
    readonly since: string | null;
    /** `pending`: applied, but not yet confirmed. */
    readonly status: "in_sync" | "changed" | "missing" | "unexpected" | "pending" | "unknown";
  })[];
  /** What the agent could not read. */
  readonly problem: string | null;
  /** True when the agent was just asked; false for its last report. */
  readonly reached: boolean;
  readonly reported_at: string | null;
}

/** The error code, for programs. */
export type ErrorCode =
  | "VALIDATION_FAILED"
  | "MISSING_CREDENTIALS"
  | "INVALID_TOKEN"
  | "INVALID_API_KEY"
  | "INVALID_LOGIN"
  | "INSUFFICIENT_SCOPES"
  | "FORBIDDEN"
  | "COMMAND_BLOCKED"
  | "NOT_FOUND"
  | "AGENT_NOT_FOUND"
  | "POLICY_NOT_FOUND"
  | "METHOD_NOT_ALLOWED"
  | "NOT_ACCEPTABLE"
  | "REQUEST_TIMEOUT"
  | "CONFLICT"
  | "AGENT_OFFLINE"
  | "GONE"
  | "PAYLOAD_TOO_LARGE"
  | "UNSUPPORTED_MEDIA_TYPE"
  | "UPGRADE_REQUIRED"
  | "RATE_LIMIT_EXCEEDED"
  | "INTERNAL_ERROR"
  | "COMMAND_LOST"
  | "UNAVAILABLE"
  | "CANARY_FAILED"
  | "COMMAND_TIMEOUT";

export interface ErrorDetails {
  /** The id of the request, as in X-Request-Id. */
  readonly request_id: string;
  /** The trace of the request, if it is traced. */
  readonly trace_id?: string | undefined;
}

export interface EvaluatedCommand {
  readonly command: string;
  /** The explanation, as a sentence for people. */
  readonly explanation: string;
  readonly layer: ShieldLayer;
  /** The risk score: blast radius × irreversibility of the worst finding. */
  readonly risk_score: number;
  /** The ids of the matching rules, worst first. */
  readonly rule_ids: readonly string[];
  readonly safer_alternative: string | null;
  /** The part of the command that the worst finding concerns. */
  readonly span: Span | null;
  /** The kinds of harm, worst first. */
  readonly threats: readonly string[];
  readonly verdict: Verdict;
  /** The ids of the matching rules that only watch; absent when there is none. */
  readonly watched?: readonly string[] | undefined;
}

export interface Evaluation {
  readonly results: readonly EvaluatedCommand[];
}

export type Flag = "true" | "false";

export interface FleetCommand {
  /** The user or API key that asked. */
  readonly actor: string;
  /** The alert that it answers. */
  readonly alert_id?: string | undefined;
  /** The requests for approval of the commands that were held. */
  readonly approvals: readonly string[];
  readonly command: string;
  /** How many commands have each status. Their sum is `total`. */
  readonly counts: Readonly<Record<string, number>>;
  readonly created_at: string;
  readonly finished_at: string | null;
  readonly id: string;
  readonly parallel: number;
  /** `succeeded` when all commands have; `cancelled` when somebody cancelled it. */
  readonly status: FleetStatus;
  readonly stop_after_failures: number | null;
  /** Why no further command starts; null while they do. */
  readonly stopped: FleetStop | null;
  /** Seconds that each command may run. */
  readonly timeout: number;
  /** The number of agents. */
  readonly total: number;
}

export interface FleetCommandPage {
  /** The user or API key that asked. */
  readonly actor: string;
  /** The alert that it answers. */
  readonly alert_id?: string | undefined;
  /** The requests for approval of the commands that were held. */
  readonly approvals: readonly string[];
  readonly command: string;
  readonly commands: readonly FleetMember[];
  /** How many commands have each status. Their sum is `total`. */
  readonly counts: Readonly<Record<string, number>>;
  readonly created_at: string;
  /** Where the next page begins; null at the end. */
  readonly cursor: string | null;
  readonly finished_at: string | null;
  readonly id: string;
  readonly parallel: number;
  /** `succeeded` when all commands have; `cancelled` when somebody cancelled it. */
  readonly status: FleetStatus;
  readonly stop_after_failures: number | null;
  /** Why no further command starts; null while they do. */
  readonly stopped: FleetStop | null;
  /** Seconds that each command may run. */
  readonly timeout: number;
  /** The number of agents. */
  readonly total: number;
}

export interface FleetMember {
  /** The user or API key that asked. */
  readonly actor: string;
  readonly agent_id: string;
  /** Null for a deleted agent. */
  readonly agent_name: string | null;
  /** The alert that it answers. */
  readonly alert_id?: string | undefined;
  /** The id of the blocked process that awaits a decision. */
  readonly approval_id: string | null;
  /** The first 2,000 characters. */
  readonly command: string;
  readonly command_id: string;
  /** SHA-256 of the whole command, if it is cut. */
  readonly command_sha256?: string | undefined;
  readonly command_truncated?: true | undefined;
  readonly created_at: string;
  readonly duration_ms: number | null;
  readonly exit_code: number | null;
  readonly finished_at: string | null;
  /** The output is larger than 8 KiB. Read the command itself. */
  readonly output_omitted?: true | undefined;
  /** The fleet command that it belongs to. */
  readonly parent_id?: string | undefined;
  /** Why there is no result. */
  readonly reason: string | null;
  readonly risk_score: number;
  readonly signal: string | null;
  readonly started_at: string | null;
  readonly status: CommandStatus;
  readonly stderr?: string | undefined;
  readonly stdout?: string | undefined;
  /** The alert whose story it belongs to. */
  readonly thread?: string | undefined;
  readonly truncated: boolean;
  readonly verdict: Verdict;
}

export type FleetStatus = "running" | "succeeded" | "failed" | "cancelled";

export interface FleetStop {
  readonly at: string;
  /** Who cancelled it. */
  readonly by: string | null;
  readonly reason: FleetStopReason;
}

export type FleetStopReason = "cancelled" | "failures" | "relay_stopped";

export interface GitPolicy {
  /** The labels that select agents. */
  readonly agent_labels: Readonly<Record<string, string>>;
  readonly branch: string;
  readonly commit: string;
  readonly created_at: string;
  readonly digest: string;
  readonly id: string;
  /** The newest version; it differs from `version` after a rollback. */
  readonly latest_version: string;
  readonly name: string;
  readonly path: string;
  /** Who pinned this version by a rollback, and when; null if nobody did. */
  readonly pinned: PolicyPin | null;
  readonly repository_id: string;
  readonly updated_at: string;
  /** The version in force. */
  readonly version: string;
}

export interface GitPolicyDocument {
  /** The labels that select agents. */
  readonly agent_labels: Readonly<Record<string, string>>;
  readonly branch: string;
  readonly commit: string;
  readonly created_at: string;
  readonly digest: string;
  readonly document: Readonly<Record<string, unknown>>;
  readonly id: string;
  /** The newest version; it differs from `version` after a rollback. */
  readonly latest_version: string;
  readonly name: string;
  readonly path: string;
  /** Who pinned this version by a rollback, and when; null if nobody did. */
  readonly pinned: PolicyPin | null;
  readonly repository_id: string;
  readonly updated_at: string;
  /** The version in force. */
  readonly version: string;
}

export type GitProvider = "github" | "gitlab" | "gitea" | "generic";

export interface GivenDecision {
  readonly actor: string;
  /** The others who may hold the deciding credential, for whom the decision counts too; `*` means anyone. */
  readonly also_of: readonly string[];
  readonly at: string;
  readonly decision: "approved" | "rejected";
  readonly reason: string | null;
  /** True when the approval may be by somebody who made the request. */
  readonly self_approved: boolean;
  readonly user_id: string;
}

export interface Guard {
  readonly agent_id: string;
  readonly last_canary: {
    readonly at: string;
    readonly by: string;
    readonly failed: readonly string[];
    readonly status: CanaryStatus;
    readonly through_agent: boolean;
  } | null;
  readonly mode: ShieldMode;
  readonly policy: {
    /** The policies that apply to the agent. */
    readonly applied: string | null;
    /** The policies that the agent has confirmed. */
    readonly confirmed: string | null;
    readonly in_sync: boolean;
    /** The policies in the agent's file. */
    readonly reported: string | null;
    /** The version that verdicts and approvals are bound to. */
    readonly version: string;
  };
  readonly status: AgentStatus;
  readonly verdict_check: {
    readonly last_refusal: string | null;
    readonly refused: number | null;
    readonly reported_at: string | null;
    /** `refusing`: since it started, the agent has refused a command with an invalid signature. */
    readonly state: "verifying" | "refusing" | "unknown";
    readonly verdict_key: string | null;
    readonly verified: number | null;
  };
}

export interface Health {
  readonly agents_linked?: number | undefined;
  readonly commands_under_way?: number | undefined;
  readonly components: Readonly<Record<string, "ok" | "down">>;
  readonly jobs_due?: number | undefined;
  /** When the newest complete backup by `relay backup` was taken, and null without one. Absent for a store that it does not copy: a database server, or one in memory. */
  readonly last_backup_at?: string | null | undefined;
  /** Why the last scheduled backup of this process failed, and null when it did not. Absent like `last_backup_at`. */
  readonly last_backup_error?: string | null | undefined;
  readonly status: "ok" | "degraded";
  readonly store_round_trip_ms?: number | undefined;
  readonly uptime_seconds?: number | undefined;
  readonly version?: string | undefined;
}

export type IngestPurpose = "alertmanager" | "generic" | "telegram";

export interface IngestToken {
  /** The user with whose present rights it acts: its creator, or the user who adopted it. */
  readonly acts_for: string;
  readonly created_at: string;
  readonly created_by: string;
  /** What created it: an API key (`api_key`), a sign-in (`session`), an MCP client (`mcp_grant`) or another issuer (`issuer`, by address); null when an earlier version of Relay did not record it. */
  readonly created_with: CreatedWith | null;
  readonly id: string;
  readonly name: string;
  /** The first characters of the value, to tell tokens apart. */
  readonly prefix: string;
  readonly purpose: IngestPurpose;
  /** Null while the user has all the rights that it needs. */
  readonly suspended: Suspension | null;
}

export interface Integration {
  /** The user with whose present rights it acts: its creator, or the user who adopted it. */
  readonly acts_for: string;
  /** The configuration, with secrets masked. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly created_at: string;
  readonly created_by: string;
  /** What created it: an API key (`api_key`), a sign-in (`session`), an MCP client (`mcp_grant`) or another issuer (`issuer`, by address); null when an earlier version of Relay did not record it. */
  readonly created_with: CreatedWith | null;
  readonly id: string;
  readonly last_error: string | null;
  readonly last_used_at: string | null;
  readonly name: string;
  /** True when it authenticates by OAuth. */
  readonly oauth: boolean;
  /** `pending` until the OAuth flow is complete; `expired` when it must be repeated. */
  readonly status: "active" | "pending" | "expired";
  /** Null while the user has all the rights that it needs. */
  readonly suspended: Suspension | null;
  readonly token_expires_at: string | null;
  readonly type: IntegrationType;
}

export type IntegrationType =
  | "slack"
  | "telegram"
  | "pagerduty"
  | "webhook"
  | "github"
  | "gitlab"
  | "gitea"
  | "jira"
  | "oauth2";

export interface Invitation {
  readonly accepted_at: string | null;
  readonly accepted_by: string | null;
  readonly created_at: string;
  readonly email: string | null;
  readonly expires_at: string;
  readonly id: string;
  readonly invited_by: string;
  /** What created it: an API key (`api_key`), a sign-in (`session`), an MCP client (`mcp_grant`) or another issuer (`issuer`, by address); null when an earlier version of Relay did not record it. */
  readonly invited_with: CreatedWith | null;
  readonly roles: readonly string[];
  readonly status: InvitationStatus;
}

export type InvitationStatus = "open" | "accepted" | "withdrawn" | "expired";

export type JobStatus = "running" | "complete" | "failed";

export interface Jwks {
  readonly keys: readonly Readonly<Record<string, unknown>>[];
}

export interface LimitLeft {
  readonly limit: number;
  readonly remaining: number;
  readonly reset_at: string | null;
}

export type LimitSource = "plan" | "configuration";

export interface LimitState {
  readonly id: string;
  readonly limits: readonly ({
    /** 2147483647 means no limit. */
    readonly limit: number;
    readonly name: string;
    /** At least this many are left now. */
    readonly remaining: number;
    readonly resets_at: string | null;
    /** The name that a 429 gives as `details.scope`. */
    readonly scope: string;
    readonly source: "override" | "configuration" | "plan";
    readonly window_seconds: number | null;
  })[];
  readonly organization_id: string;
  /** The host's overrides; null means unlimited. */
  readonly overrides: {
    readonly burst_per_10_seconds?: number | null | undefined;
    readonly max_concurrent?: number | null | undefined;
    readonly mcp_calls_per_minute?: number | null | undefined;
    readonly requests_per_minute?: number | null | undefined;
    readonly webhook_deliveries_per_minute?: number | null | undefined;
  };
  readonly plan: string;
  readonly type: "api_key" | "organization";
}

export interface ListedCommand {
  /** The user or API key that asked. */
  readonly actor: string;
  readonly agent_id: string;
  /** The alert that it answers. */
  readonly alert_id?: string | undefined;
  /** The id of the blocked process that awaits a decision. */
  readonly approval_id: string | null;
  /** The first 2,000 characters. */
  readonly command: string;
  readonly command_id: string;
  /** SHA-256 of the whole command, if it is cut. */
  readonly command_sha256?: string | undefined;
  readonly command_truncated?: true | undefined;
  readonly created_at: string;
  readonly duration_ms: number | null;
  readonly exit_code: number | null;
  readonly finished_at: string | null;
  /** The fleet command that it belongs to. */
  readonly parent_id?: string | undefined;
  /** Why there is no result. */
  readonly reason: string | null;
  readonly risk_score: number;
  readonly signal: string | null;
  readonly started_at: string | null;
  readonly status: CommandStatus;
  /** The alert whose story it belongs to. */
  readonly thread?: string | undefined;
  readonly truncated: boolean;
  readonly verdict: Verdict;
}

export interface Login {
  /** A code from the authenticator, or a recovery code. */
  readonly code?: string | undefined;
  readonly email: string;
  readonly password: string;
}

export interface MadeWithApiKey {
  readonly id: string;
  /** Why it could not be ended. */
  readonly reason?: string | undefined;
  readonly space: Space;
  readonly type:
    | "api_key"
    | "pairing_code"
    | "device"
    | "ingest_token"
    | "webhook"
    | "integration"
    | "repository"
    | "invitation"
    | "user"
    | "role";
}

export interface McpClient {
  /** The network address of the browser that approved it. */
  readonly address: string;
  readonly client_id: string;
  readonly created_at: string;
  /** When it ends unless it refreshes its tokens. */
  readonly expires_at: string;
  readonly id: string;
  /** The name that the client gave itself. */
  readonly name: string;
  readonly redirect_uri: string;
  readonly refreshed_at: string | null;
  /** The path of the MCP address of its tokens. */
  readonly resource: string;
  readonly scopes: readonly Scope[];
  readonly space: Space;
}

export interface McpConsent {
  /** The host of its metadata document; null for a client that registered itself. */
  readonly client_host: string | null;
  /** The name that the client gave itself. */
  readonly name: string;
  /** Where the browser goes after the decision. */
  readonly redirect_uri: string;
  readonly resource: string;
  readonly scopes: readonly Scope[];
}

export interface NewIngestToken {
  /** The user with whose present rights it acts: its creator, or the user who adopted it. */
  readonly acts_for: string;
  readonly created_at: string;
  readonly created_by: string;
  /** What created it: an API key (`api_key`), a sign-in (`session`), an MCP client (`mcp_grant`) or another issuer (`issuer`, by address); null when an earlier version of Relay did not record it. */
  readonly created_with: CreatedWith | null;
  readonly id: string;
  readonly name: string;
  /** The first characters of the value, to tell tokens apart. */
  readonly prefix: string;
  readonly purpose: IngestPurpose;
  /** Null while the user has all the rights that it needs. */
  readonly suspended: Suspension | null;
  /** The whole value, `svc_ingest_…`. */
  readonly token: string;
}

export interface NewWebhook {
  readonly active: boolean;
  /** The user with whose present rights it acts: its creator, or the user who adopted it. */
  readonly acts_for: string;
  readonly created_at: string;
  /** What created it: an API key (`api_key`), a sign-in (`session`), an MCP client (`mcp_grant`) or another issuer (`issuer`, by address); null when an earlier version of Relay did not record it. */
  readonly created_with: CreatedWith | null;
  /** Values are `********` for callers without secrets:read. */
  readonly custom_headers: Readonly<Record<string, string>>;
  /** The number of completed attempts. */
  readonly delivery_count: number;
  readonly events: readonly string[];
  readonly id: string;
  /** When the latest attempt completed. */
  readonly last_delivery_at: string | null;
  readonly name: string;
  /** Until this time the previous secret signs too. */
  readonly previous_secret_ends_at: string | null;
  /** The recovery that sends the held deliveries after the webhook was last enabled. */
  readonly release_id: string | null;
  readonly retry_policy: RetryPolicy;
  /** The secret that Relay generated. */
  readonly secret?: string | undefined;
  /** Null while the user has all the rights that it needs. */
  readonly suspended: Suspension | null;
  readonly url: string;
}

export interface Notification {
  readonly created_at: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly id: string;
  readonly read_at: string | null;
  readonly resource_id: string;
  readonly resource_type: string;
  readonly space: Space;
  /** The type, such as approval_requested or agent_lost. */
  readonly type: string;
}

export interface Order {
  readonly account_id: string;
  /** The full price of the new plan. */
  readonly amount: number;
  readonly created_at: string;
  readonly currency: string;
  readonly id: string;
  readonly plan_id: string;
  readonly plan_name: string;
  readonly previous_plan_id: string;
  /** Always `none`: the old plan is not refunded. */
  readonly proration: "none";
  readonly status: "completed";
  readonly subscription_id: string;
}

export interface Organization {
  readonly created_at: string;
  readonly host: boolean;
  readonly id: string;
  readonly name: string;
  readonly plan: string;
}

export interface OutputChunk {
  readonly data: string;
  /** The bytes of both streams that came before `data`. */
  readonly offset: number;
  readonly stream: "stdout" | "stderr";
}

export type PackName =
  | "filesystem"
  | "disks"
  | "git"
  | "network"
  | "escalation"
  | "credentials"
  | "databases"
  | "kubernetes"
  | "production"
  | "containers"
  | "cloud"
  | "services"
  | "packages"
  | "persistence"
  | "code"
  | "structure"
  | "behaviour";

export interface Pagination {
  readonly has_more: boolean;
  readonly limit: number;
  readonly offset: number;
  readonly total: number;
}

export interface PairingCode {
  readonly created_by: string;
  /** What created it: an API key (`api_key`), a sign-in (`session`), an MCP client (`mcp_grant`) or another issuer (`issuer`, by address); null when an earlier version of Relay did not record it. */
  readonly created_with: CreatedWith | null;
  readonly expires_at: string;
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface PatternChange {
  /** For example `{ "production": "watch" }`. */
  readonly packs?: Readonly<Record<string, boolean | "watch">> | undefined;
  /** For example `{ "services.stop": false }`. */
  readonly rules?: Readonly<Record<string, boolean | "watch">> | undefined;
}

export interface PatternList {
  readonly disabled_packs: readonly string[];
  readonly disabled_rules: readonly string[];
  readonly pagination: Pagination;
  readonly patterns: readonly {
    readonly enabled: boolean;
    readonly pack: PackName;
    readonly rules: readonly {
      /** False also when its pack is disabled. */
      readonly enabled: boolean;
      readonly explanation: string;
      /** True when it always decides. */
      readonly fixed: boolean;
      readonly id: string;
      /** The score of the rule alone, on an agent without labels. */
      readonly risk_score: number;
      readonly threat: string;
      /** True when it only watches, also because its pack does. */
      readonly watched: boolean;
    }[];
    /** True when its rules only watch. */
    readonly watched: boolean;
  }[];
  readonly policy_version: string;
  readonly watched_packs: readonly string[];
  readonly watched_rules: readonly string[];
}

export interface PendingSelfApproval {
  readonly created_at: string;
  readonly expires_at: string;
  readonly id: string;
  readonly requested_by: string;
}

export type Permission =
  | "agents:read"
  | "agents:write"
  | "agents:admin"
  | "approvals:read"
  | "approvals:write"
  | "policy:read"
  | "policy:write"
  | "audit:read"
  | "audit:write"
  | "secrets:read"
  | "catalog:read"
  | "patterns:read"
  | "patterns:write"
  | "compliance:read"
  | "system:read"
  | "system:write"
  | "all";

export interface Plan {
  /** The number of accounts with this plan; null except for the host. */
  readonly accounts: number | null;
  readonly created_at: string;
  readonly currency: string;
  readonly features: readonly string[];
  readonly id: string;
  readonly limit_source: LimitSource;
  readonly name: string;
  readonly price: number;
  /** The limit in force; 2147483647 means no limit. */
  readonly requests_per_minute: number;
  readonly updated_at: string;
}

export type PlanAction = "create" | "update" | "delete" | "unchanged" | "pinned" | "unpin";

export interface PlanStep {
  /** `pinned`: a rollback holds the policy although its file differs. `unpin`: the file equals the version in force, so the pin is removed. */
  readonly action: PlanAction;
  /** The SHA-256 of the document in force afterwards. */
  readonly digest: string | null;
  readonly name: string;
  readonly path: string;
  /** Null where a dry run would create the policy. */
  readonly policy_id: string | null;
  readonly previous_version: string | null;
  /** The version in force afterwards; null when the policy is deleted. */
  readonly version: string | null;
}

export interface PolicyApply {
  /** False when the plan changes nothing. */
  readonly changed: boolean;
  /** The head of the branch. */
  readonly commit: string;
  readonly dry_run: boolean;
  /** Every policy concerned, deletions included. */
  readonly plan: readonly PlanStep[];
  /** The policy at the path, if there is exactly one; `plan` lists all. */
  readonly policy_id: string | null;
  readonly replay: Replay | null;
  /** The version of the whole set of policies afterwards; empty for none. */
  readonly version: string;
}

export interface PolicyChange {
  readonly after?: unknown | undefined;
  readonly before?: unknown | undefined;
  readonly kind: "added" | "removed" | "changed" | "moved";
  /** The path of the change; rules are addressed by id. */
  readonly path: string;
}

export interface PolicyPin {
  readonly at: string;
  readonly by: string;
}

export interface PolicyVersion {
  readonly branch: string;
  readonly commit: string;
  readonly created_at: string;
  readonly created_by: string;
  /** The SHA-256 of the document's canonical JSON. */
  readonly digest: string;
  readonly in_force: boolean;
  readonly name: string;
  /** The user with whose rights a sync created it; null otherwise. */
  readonly on_behalf_of: string | null;
  readonly path: string;
  readonly policy_id: string;
  readonly repository: string;
  readonly version: string;
}

export interface PolicyVersionDocument {
  readonly branch: string;
  readonly commit: string;
  readonly created_at: string;
  readonly created_by: string;
  /** The SHA-256 of the document's canonical JSON. */
  readonly digest: string;
  readonly document: Readonly<Record<string, unknown>>;
  readonly in_force: boolean;
  readonly name: string;
  /** The user with whose rights a sync created it; null otherwise. */
  readonly on_behalf_of: string | null;
  readonly path: string;
  readonly policy_id: string;
  readonly repository: string;
  readonly version: string;
}

export type ProgramForm = "executable" | "bundle" | "source";

export interface PulledEvent {
  readonly agent_id?: string | undefined;
  readonly event_id: string;
  readonly event_type: string;
  readonly organization_id: string;
  readonly payload: Readonly<Record<string, unknown>>;
  /** The sequence number in the organization's log. */
  readonly seq: number;
  readonly timestamp: string;
}

export interface ReadApproval {
  /** Null for a fleet command. */
  readonly agent_id: string | null;
  /** The agents of a fleet command. `GET /api/v1/commands/{id}` lists them. */
  readonly agents?: ApprovedAgents | undefined;
  /** The alert that the command answers. */
  readonly alert_id?: string | undefined;
  readonly caller: CallerDecision;
  readonly command: string;
  /** The command, or the fleet command whose held commands it covers. */
  readonly command_id: string;
  readonly command_sha256: string;
  /** Null for a fleet command. */
  readonly command_status: CommandStatus | null;
  readonly created_at: string;
  readonly decisions: readonly GivenDecision[];
  readonly expires_at: string;
  /** The console's page about it, as a path of the relay. A link to it decides nothing. */
  readonly page: string;
  /** The id of the blocked process. */
  readonly pid: string;
  readonly policy_version: string;
  readonly reason: string | null;
  /** The others who may hold the requesting credential; `*` means anyone. */
  readonly requested_also: readonly string[];
  readonly requested_by: string;
  /** The number of people who must approve. */
  readonly required: number;
  readonly resolved_at: string | null;
  /** The roles that may decide; empty means any. */
  readonly roles: readonly string[];
  readonly shield_result: ShieldResult;
  readonly status: ApprovalStatus;
  /** The alert whose story it belongs to. */
  readonly thread?: string | undefined;
}

export interface RegisteredAuditEvent {
  readonly actor: string;
  readonly agent_id?: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;
  readonly event_id: string;
  readonly event_type: string;
  /** The grant of the MCP client that acted for the actor. */
  readonly mcp_grant_id?: string | undefined;
  readonly organization_id: string;
  readonly request_id?: string | undefined;
  readonly resource_id: string;
  readonly resource_type: string;
  /** The span of that request. */
  readonly span_id?: string | undefined;
  /** The alert whose story it belongs to. */
  readonly thread?: string | undefined;
  readonly timestamp: string;
  /** The trace of the request that caused it. */
  readonly trace_id?: string | undefined;
}

export interface Replay {
  /** Commands whose verdict the candidate changes, newest first. */
  readonly changed: readonly ({
    readonly agent_id: string | null;
    readonly at: string;
    /** The verdict of the policy in force. */
    readonly before: Verdict;
    readonly command: string;
    readonly command_id: string;
    /** The explanation, as a sentence for people. */
    readonly explanation: string;
    readonly layer: ShieldLayer;
    /** The recorded outcome. */
    readonly recorded: Verdict;
    /** The risk score: blast radius × irreversibility of the worst finding. */
    readonly risk_score: number;
    /** The ids of the matching rules, worst first. */
    readonly rule_ids: readonly string[];
    readonly safer_alternative: string | null;
    /** The part of the command that the worst finding concerns. */
    readonly span: Span | null;
    /** The kinds of harm, worst first. */
    readonly threats: readonly string[];
    readonly verdict: Verdict;
    /** The ids of the matching rules that only watch; absent when there is none. */
    readonly watched?: readonly string[] | undefined;
  })[];
  /** False when the log has more rows than one replay examines. */
  readonly complete: boolean;
  /** The candidate's verdicts, counted. */
  readonly counts: {
    readonly allow: number;
    readonly approve: number;
    readonly deny: number;
  };
  /** The number of commands judged. */
  readonly replayed: number;
  /** The number of log rows examined. */
  readonly scanned: number;
  /** The number of commands whose full text is no longer kept. */
  readonly skipped: number;
}

export type ReportInterval = "month" | "quarter";

export interface ReportSchedule {
  /** Null for no schedule. */
  readonly every: ReportInterval | null;
  readonly keep_days: number | null;
  /** An hour after the end of the period then reported. */
  readonly next_at: string | null;
  readonly set_at: string | null;
  readonly set_by: string | null;
  readonly types: readonly ReportType[];
}

export type ReportType = "soc2" | "iso27001" | "hipaa" | "pci" | "access-review" | "commands";

export type ReportedStatus =
  | "ok"
  | "degraded"
  | "error"
  | "online"
  | "healthy"
  | "warning"
  | "critical"
  | "offline";

export interface Repository {
  /** The user with whose present rights it acts: its creator, or the user who adopted it. */
  readonly acts_for: string;
  /** The commit in force. */
  readonly applied_commit: string | null;
  readonly branch: string;
  readonly created_at: string;
  readonly created_by: string;
  /** What created it: an API key (`api_key`), a sign-in (`session`), an MCP client (`mcp_grant`) or another issuer (`issuer`, by address); null when an earlier version of Relay did not record it. */
  readonly created_with: CreatedWith | null;
  readonly has_credentials: boolean;
  readonly has_webhook_secret: boolean;
  readonly id: string;
  readonly last_sync: {
    readonly at: string;
    readonly commit: string | null;
    /** Why the last sync failed. */
    readonly error: string | null;
  } | null;
  readonly name: string;
  /** A new head announced by an unsigned push, not yet in force. */
  readonly pending: {
    /** The first 20 changes; a dry run of the apply shows all. */
    readonly changes: readonly {
      readonly action: PlanAction;
      readonly name: string;
      readonly path: string;
    }[];
    readonly changes_total: number;
    readonly commit: string;
    readonly seen_at: string;
  } | null;
  readonly policy_path: string;
  readonly provider: GitProvider;
  /** Null while the user has all the rights that it needs. */
  readonly suspended: Suspension | null;
  /** The sync interval, in seconds; null for no scheduled sync. */
  readonly sync_seconds: number | null;
  readonly url: string;
}

export type ResourceType =
  | "account"
  | "agent"
  | "alert"
  | "alert_source"
  | "api_key"
  | "approval"
  | "audit_log"
  | "backup"
  | "command"
  | "configuration"
  | "device"
  | "endpoint"
  | "external"
  | "fleet_command"
  | "ingest_token"
  | "installation"
  | "integration"
  | "invitation"
  | "limits"
  | "mcp_grant"
  | "mcp_session"
  | "notification"
  | "organization"
  | "pairing_code"
  | "plan"
  | "policy"
  | "report"
  | "repository"
  | "restore"
  | "role"
  | "session"
  | "shield"
  | "telegram_link"
  | "upgrade"
  | "user"
  | "webhook";

export interface Restore {
  readonly agent_id: string;
  /** More than one when the link was lost. */
  readonly attempts: number;
  readonly backup_id: string;
  readonly created_at: string;
  readonly created_by: string;
  /** The SHA-256 of the agent's configuration afterwards. */
  readonly digest: string | null;
  readonly dry_run: boolean;
  readonly error: string | null;
  readonly finished_at: string | null;
  readonly id: string;
  readonly plan: {
    readonly changes: readonly ({
      readonly action: "create" | "replace" | "remove";
      readonly path: string;
    })[];
    readonly create: number;
    readonly remove: number;
    readonly replace: number;
    readonly unchanged: number;
  } | null;
  readonly status: JobStatus;
  /** The backup of the state before; restore it to undo this restore. */
  readonly undo_backup_id: string | null;
}

export interface RetryPolicy {
  /** Disables the webhook when the last attempt of a delivery fails. */
  readonly auto_disable: boolean;
  /** Each delay is the previous one times this factor. */
  readonly backoff_multiplier: number;
  /** Disables the webhook when the receiver returns 410. */
  readonly disable_on_gone: boolean;
  /** The delay before the second attempt, in seconds. */
  readonly initial_delay_seconds: number;
  /** The maximum delay, in seconds. */
  readonly max_delay_seconds: number;
  /** The maximum number of attempts, including the first. */
  readonly max_retries: number;
  /** Waits at least as long as the receiver's Retry-After asks. */
  readonly respect_retry_after: boolean;
  /** The deadline from the name look-up to the response headers, in seconds. */
  readonly timeout_seconds: number;
}

export interface Role {
  readonly built_in: boolean;
  readonly created_at: string | null;
  readonly created_by: string | null;
  readonly name: string;
  readonly permissions: readonly string[];
  readonly updated_at: string | null;
}

export interface RoleMember {
  /** An opaque id. */
  readonly user_id: string;
}

export interface RolesOfUser {
  readonly active: boolean;
  readonly email: string;
  /** The combined permissions of these roles now. */
  readonly permissions: readonly Scope[];
  readonly roles: readonly string[];
  readonly user_id: string;
}

/** A JSON-RPC error object. */
export interface RpcError {
  /** The code that JSON-RPC or MCP defines, or else the HTTP status. */
  readonly code: number;
  /** The members of this API's error object, and those that MCP requires. */
  readonly data: {
    readonly code: ErrorCode;
    readonly details: ErrorDetails;
  };
  readonly message: string;
}

export interface RpcRequest {
  /** Absent in a notification, which gets no response. */
  readonly id?: string | number | undefined;
  readonly jsonrpc: "2.0";
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>> | undefined;
}

/** Has `result`, or `error` when the call was refused. */
export interface RpcResponse {
  readonly error?: RpcError | undefined;
  /** The id of the request; null when it could not be read, as for a batch. */
  readonly id: string | number | null;
  readonly jsonrpc: "2.0";
  readonly result?: Readonly<Record<string, unknown>> | undefined;
}

export interface RuleSuggestions {
  /** False when older requests were left out. */
  readonly complete: boolean;
  /** The number of decided or lapsed requests that were read. */
  readonly requests: number;
  /** Sorted by `held`, highest first; at most 500. */
  readonly rules: readonly ({
    readonly approved: number;
    /** The number without a decision: expired, lapsed or withdrawn. */
    readonly expired: number;
    /** The number of requests of commands that the rule held. */
    readonly held: number;
    /** The median time to an approval; null without one. */
    readonly median_seconds: number | null;
    /** A policy for lines that were always approved. All proposals together fit into one policy. */
    readonly proposal: ShieldPolicy | null;
    readonly rejected: number;
    readonly rule_id: string;
    /** The longest time to an approval; null without one. */
    readonly slowest_seconds: number | null;
  })[];
  readonly since: string;
}

export type Scope =
  | "agents:read"
  | "agents:write"
  | "agents:admin"
  | "approvals:read"
  | "approvals:write"
  | "policy:read"
  | "policy:write"
  | "audit:read"
  | "audit:write"
  | "secrets:read"
  | "catalog:read"
  | "patterns:read"
  | "patterns:write"
  | "compliance:read"
  | "system:read"
  | "system:write";

export interface ScopeInfo {
  /** What it allows. */
  readonly description: string;
  readonly name: Scope;
}

export interface SecondFactor {
  readonly confirmed_at: string | null;
  readonly enabled: boolean;
  readonly recovery_codes_left: number;
  readonly required: boolean;
}

export interface Secret {
  readonly age_days: number;
  readonly created_at: string;
  /** The names of the secrets, never their values. */
  readonly holds: readonly string[];
  /** The id of the resource that it belongs to. */
  readonly id: string;
  readonly last_used_at: string | null;
  readonly name: string;
  /** The status of an API key, which is listed until it is deleted; null for other types. */
  readonly status: ApiKeyStatus | null;
  readonly type: "api_key" | "webhook" | "ingest_token" | "integration";
}

export interface SelfApprovalDecision {
  /** The `pending_self_approval.id` of the settings. */
  readonly id: string;
}

export interface Session {
  readonly address: string;
  readonly created_at: string;
  readonly current: boolean;
  /** When the session ends unless it is refreshed. */
  readonly expires_at: string;
  readonly id: string;
  /** Null before the first refresh. */
  readonly refreshed_at: string | null;
  readonly second_factor: boolean;
}

export type Severity = "info" | "warning" | "critical";

export type ShieldLayer = "policy" | "patterns" | "structure" | "behaviour";

export type ShieldMode = "enforce" | "observe" | "off";

export interface ShieldPolicy {
  /** Packs whose rules are disabled, except the rules for unreadable commands. */
  readonly disabled_packs?: readonly PackName[] | undefined;
  readonly disabled_rules?: readonly string[] | undefined;
  readonly rules: readonly ({
    /** The required approvals, instead of those in the settings. */
    readonly approvals?: {
      readonly required?: number | undefined;
      readonly roles?: readonly string[] | undefined;
    } | undefined;
    readonly description?: string | undefined;
    readonly id: string;
    /** The conditions, all of which must hold; an empty object matches every command. */
    readonly match: {
      /** Arguments that must all be present; `*` and `?` are wildcards, and `-r` also matches `-rf`. */
      readonly arguments?: readonly string[] | undefined;
      /** Program names without folders; `*` and `?` are wildcards. */
      readonly commands?: readonly string[] | undefined;
      /** True allows no arguments except those in `arguments`. */
      readonly exact?: boolean | undefined;
      readonly hours?: {
        /** The days on which the period begins; every day by default. */
        readonly days?: readonly Weekday[] | undefined;
        readonly from: string;
        /** The IANA time zone; UTC by default. */
        readonly timezone?: string | undefined;
        /** The end. If it is not after `from`, the period runs past midnight. */
        readonly to: string;
      } | undefined;
      /** Labels that the agent must have. */
      readonly labels?: Readonly<Record<string, string>> | undefined;
      /** Whole command lines: the command is exactly one of these. */
      readonly lines?: readonly string[] | undefined;
      /** Program names without folders: matches every program that none of them matches, including programs with unknown names. */
      readonly other_commands?: readonly string[] | undefined;
      readonly packs?: readonly PackName[] | undefined;
      /** Globs: `*` matches within a folder, `**` across folders. A rule that denies or requires approval matches if one path matches. A rule that allows matches only if every operand that `arguments` does not name matches. */
      readonly paths?: readonly string[] | undefined;
      /** The requester must have one of these roles. */
      readonly roles?: readonly string[] | undefined;
      readonly rule_ids?: readonly string[] | undefined;
      /** The requester must be one of these users, or use one of these API keys. */
      readonly users?: readonly string[] | undefined;
    };
    readonly verdict: Verdict;
  })[];
  /** Tests that run when the policy is applied; if one fails, the policy is refused. */
  readonly tests?:
    | readonly ({
      /** The time of the command; without it, rules with hours do not match. */
      readonly at?: string | undefined;
      readonly command: string;
      readonly expect: Verdict;
      /** The agent's labels. */
      readonly labels?: Readonly<Record<string, string>> | undefined;
      /** The requester's roles. */
      readonly roles?: readonly string[] | undefined;
      /** The requester's id. */
      readonly user?: string | undefined;
    })[]
    | undefined;
  readonly thresholds?: {
    readonly approve: number;
    /** The score from which commands are denied; 101 denies none by score. */
    readonly deny: number;
  } | undefined;
  /** A name for people; Relay does not use it. */
  readonly version?: string | undefined;
  /** Packs whose rules only watch: results name them, and they decide nothing. */
  readonly watched_packs?: readonly PackName[] | undefined;
  readonly watched_rules?: readonly string[] | undefined;
}

export interface ShieldPolicyInput {
  /** Packs whose rules are disabled, except the rules for unreadable commands. */
  readonly disabled_packs?: readonly PackName[] | undefined;
  readonly disabled_rules?: readonly string[] | undefined;
  readonly rules?:
    | readonly ({
      /** The required approvals, instead of those in the settings. */
      readonly approvals?: {
        readonly required?: number | undefined;
        readonly roles?: readonly string[] | undefined;
      } | undefined;
      readonly description?: string | undefined;
      readonly id: string;
      /** The conditions, all of which must hold; an empty object matches every command. */
      readonly match: {
        /** Arguments that must all be present; `*` and `?` are wildcards, and `-r` also matches `-rf`. */
        readonly arguments?: readonly string[] | undefined;
        /** Program names without folders; `*` and `?` are wildcards. */
        readonly commands?: readonly string[] | undefined;
        /** True allows no arguments except those in `arguments`. */
        readonly exact?: boolean | undefined;
        readonly hours?: {
          /** The days on which the period begins; every day by default. */
          readonly days?: readonly Weekday[] | undefined;
          readonly from: string;
          /** The IANA time zone; UTC by default. */
          readonly timezone?: string | undefined;
          /** The end. If it is not after `from`, the period runs past midnight. */
          readonly to: string;
        } | undefined;
        /** Labels that the agent must have. */
        readonly labels?: Readonly<Record<string, string>> | undefined;
        /** Whole command lines: the command is exactly one of these. */
        readonly lines?: readonly string[] | undefined;
        /** Program names without folders: matches every program that none of them matches, including programs with unknown names. */
        readonly other_commands?: readonly string[] | undefined;
        readonly packs?: readonly PackName[] | undefined;
        /** Globs: `*` matches within a folder, `**` across folders. A rule that denies or requires approval matches if one path matches. A rule that allows matches only if every operand that `arguments` does not name matches. */
        readonly paths?: readonly string[] | undefined;
        /** The requester must have one of these roles. */
        readonly roles?: readonly string[] | undefined;
        readonly rule_ids?: readonly string[] | undefined;
        /** The requester must be one of these users, or use one of these API keys. */
        readonly users?: readonly string[] | undefined;
      };
      readonly verdict: Verdict;
    })[]
    | undefined;
  /** Tests that run when the policy is applied; if one fails, the policy is refused. */
  readonly tests?:
    | readonly ({
      /** The time of the command; without it, rules with hours do not match. */
      readonly at?: string | undefined;
      readonly command: string;
      readonly expect: Verdict;
      /** The agent's labels. */
      readonly labels?: Readonly<Record<string, string>> | undefined;
      /** The requester's roles. */
      readonly roles?: readonly string[] | undefined;
      /** The requester's id. */
      readonly user?: string | undefined;
    })[]
    | undefined;
  readonly thresholds?: {
    readonly approve?: number | undefined;
    /** The score from which commands are denied; 101 denies none by score. */
    readonly deny?: number | undefined;
  } | undefined;
  /** A name for people; Relay does not use it. */
  readonly version?: string | undefined;
  /** Packs whose rules only watch: results name them, and they decide nothing. */
  readonly watched_packs?: readonly PackName[] | undefined;
  readonly watched_rules?: readonly string[] | undefined;
}

export interface ShieldResult {
  /** The explanation, as a sentence for people. */
  readonly explanation: string;
  readonly layer: ShieldLayer;
  /** The risk score: blast radius × irreversibility of the worst finding. */
  readonly risk_score: number;
  /** The ids of the matching rules, worst first. */
  readonly rule_ids: readonly string[];
  readonly safer_alternative: string | null;
  /** The part of the command that the worst finding concerns. */
  readonly span: Span | null;
  /** The kinds of harm, worst first. */
  readonly threats: readonly string[];
  readonly verdict: Verdict;
  /** The ids of the matching rules that only watch; absent when there is none. */
  readonly watched?: readonly string[] | undefined;
}

export interface ShieldSettings {
  readonly agent_modes: Readonly<Record<string, ShieldMode>>;
  readonly approvals: {
    readonly expires_seconds: number;
    readonly required: number;
    readonly roles: readonly string[];
    readonly self_approval: boolean;
  };
  readonly mode: ShieldMode;
  /** How the built-in rules are switched, as in `/api/v1/patterns`. */
  readonly patterns: {
    readonly disabled_packs: readonly string[];
    readonly disabled_rules: readonly string[];
    readonly watched_packs: readonly string[];
    readonly watched_rules: readonly string[];
  };
  /** The request to allow self-approval, while it awaits a second administrator. */
  readonly pending_self_approval: PendingSelfApproval | null;
  readonly policy: ShieldPolicy | null;
  readonly policy_version: string;
}

export interface SignInOptions {
  /** Whether that sign-up needs the claim code. */
  readonly claim_code: boolean;
  /** False before the first sign-up, which claims the relay. */
  readonly claimed: boolean;
  /** Where people may sign in by OpenID Connect. */
  readonly issuers: readonly {
    readonly issuer: string;
    readonly name: string;
    /** Where a link of the sign-in page leads. */
    readonly url: string;
  }[];
  /** Who may sign up later: everyone, invited people, or nobody. */
  readonly sign_up: "open" | "invite" | "closed";
  /** Whether the request has a live credential, such as the session cookie. */
  readonly signed_in: boolean;
}

export interface SignUp {
  readonly claim_code?: string | undefined;
  readonly email: string;
  /** Joins the inviting organization instead of creating one. */
  readonly invite_code?: string | undefined;
  /** The organization's name; not needed to join one. */
  readonly organization?: string | undefined;
  readonly password: string;
}

export interface SignedIn {
  /** When the token expires. */
  readonly expires_at: string;
  readonly organization: {
    readonly id: string;
    readonly name: string;
  };
  /** When the session ends unless it is refreshed. */
  readonly refresh_expires_at: string;
  /** Exchange it once for a new token, at POST /api/v1/token/refresh. Keep it as safe as a password. */
  readonly refresh_token: string;
  /** Present when the organization requires a second factor and the user has none: until one is set up, the token has no rights. */
  readonly second_factor?: "setup_required" | undefined;
  readonly token: string;
  readonly token_type: "Bearer";
  readonly user: {
    readonly email: string;
    readonly id: string;
    readonly role: string;
  };
}

export type Space = "live" | "test";

export interface Span {
  readonly end: number;
  readonly start: number;
}

export type Subprotocol = "relay.events.batches.v1" | "relay.events.v1" | "relay.agent.v1";

export interface Subscription {
  readonly account_id: string;
  readonly currency: string;
  readonly ended_at: string | null;
  readonly id: string;
  readonly plan_id: string;
  readonly plan_name: string;
  readonly price: number;
  readonly started_at: string;
  readonly status: "active" | "ended";
}

export interface Suspension {
  /** The rights that it needs and the user lacks. Actions that need one of them are skipped. */
  readonly missing: readonly string[];
  readonly person: string;
  /** `removed`: the user is gone. `inactive`: deactivated. `rights`: lost rights. */
  readonly reason: "removed" | "inactive" | "rights";
}

export interface TelegramAnswer {
  readonly callback_query_id: string;
  readonly method: "answerCallbackQuery";
  readonly show_alert: true;
  readonly text: string;
}

export interface TelegramLink {
  readonly created_at: string;
  readonly id: string;
  readonly telegram_id: string;
  /** The bot's ingest token. */
  readonly token_id: string;
  readonly username: string | null;
}

export interface TelegramMessage {
  readonly chat_id: number;
  readonly method: "sendMessage";
  readonly text: string;
}

/** In ms. A phase is null when it was not reached, or when a connection was reused. */
export interface Timing {
  readonly connect: number | null;
  /** From the request to the first byte of the response. */
  readonly first_byte: number | null;
  readonly resolve: number | null;
  readonly tls: number | null;
}

export type TrustStatus = "pending" | "trusted" | "revoked";

export interface Upgrade {
  /** In the order in which they are upgraded. */
  readonly agents: readonly ({
    readonly agent_id: string;
    /** Why the agent kept its program. */
    readonly error: string | null;
    /** Null until the agent is asked. */
    readonly name: string | null;
    readonly previous_version: string | null;
    readonly status: AgentUpgradeStatus;
  })[];
  readonly created_at: string;
  readonly created_by: string;
  readonly failed: number;
  readonly finished_at: string | null;
  readonly id: string;
  readonly status: UpgradeStatus;
  readonly stop_after_failures: number;
  readonly succeeded: number;
  /** The relay's own version. */
  readonly version: string;
}

export interface UpgradeStarted {
  /** Agents beyond the first 1,000, for the next upgrade. */
  readonly remaining: number;
  /** Agents that are not upgraded, and why; at most 100. */
  readonly skipped: readonly {
    readonly agent_id: string;
    /** True for an agent that needs no upgrade. */
    readonly current: boolean;
    readonly name: string;
    readonly reason: string;
  }[];
  /** Null when no agent can be upgraded. */
  readonly upgrade: Upgrade | null;
}

/** `stopped` after failures or a cancellation, with agents left. */
export type UpgradeStatus = "running" | "complete" | "stopped";

export interface User {
  readonly active: boolean;
  readonly created_at: string;
  readonly email: string;
  readonly id: string;
  readonly roles: readonly string[];
  /** Whether the user has one. Null for callers without system:write. */
  readonly second_factor: boolean | null;
  /** When the newest session that has not ended began. Null without one, and for callers without system:write. */
  readonly signed_in_at: string | null;
}

export type Verdict = "allow" | "approve" | "deny";

export interface Webhook {
  readonly active: boolean;
  /** The user with whose present rights it acts: its creator, or the user who adopted it. */
  readonly acts_for: string;
  readonly created_at: string;
  /** What created it: an API key (`api_key`), a sign-in (`session`), an MCP client (`mcp_grant`) or another issuer (`issuer`, by address); null when an earlier version of Relay did not record it. */
  readonly created_with: CreatedWith | null;
  /** Values are `********` for callers without secrets:read. */
  readonly custom_headers: Readonly<Record<string, string>>;
  /** The number of completed attempts. */
  readonly delivery_count: number;
  readonly events: readonly string[];
  readonly id: string;
  /** When the latest attempt completed. */
  readonly last_delivery_at: string | null;
  readonly name: string;
  /** Until this time the previous secret signs too. */
  readonly previous_secret_ends_at: string | null;
  /** The recovery that sends the held deliveries after the webhook was last enabled. */
  readonly release_id: string | null;
  readonly retry_policy: RetryPolicy;
  /** Null while the user has all the rights that it needs. */
  readonly suspended: Suspension | null;
  readonly url: string;
}

export type WebhookEventType =
  | "command_executed"
  | "command_denied"
  | "command_timeout"
  | "agent_connected"
  | "agent_disconnected"
  | "agent_health_changed"
  | "agent_created"
  | "agent_deleted"
  | "session_started"
  | "session_closed"
  | "session_timeout"
  | "policy_created"
  | "policy_updated"
  | "policy_deleted"
  | "approval_requested"
  | "approval_resolved"
  | "compliance_report_generated";

export interface WebhookRecovery {
  readonly created_at: string;
  readonly discarded: number;
  readonly finished_at: string | null;
  readonly id: string;
  readonly kind: "release" | "recover" | "purge";
  /** The number of deliveries queued again. */
  readonly requeued: number;
  readonly state: "running" | "completed" | "cancelled";
  readonly webhook_id: string;
}

export interface WebhookRecoveryStart {
  readonly matched: number | null;
  readonly recovery: WebhookRecovery | null;
}

export type Weekday = "mon" | "tue" | "wed" | "thu" | "fri" | "sat" | "sun";
