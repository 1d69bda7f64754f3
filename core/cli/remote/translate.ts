/** The words of a command of this program, as its help shows them. */
export interface CommandWords {
  readonly name: string;
  readonly takes: readonly string[];
  readonly rest?: string;
  readonly options: readonly { readonly name: string }[];
}

/** What an error of the relay tells. */
interface Said {
  readonly message: string;
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** Options and arguments for inputs of the API, where their names differ. */
const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  agent_id: ["agent"],
  alert_id: ["alert"],
  command_id: ["command"],
  del_id: ["delivery"],
  end_time: ["until"],
  event_type: ["type"],
  events: ["type"],
  grace_period_hours: ["grace-hours"],
  headers: ["header"],
  id: ["agent", "key", "webhook"],
  labels: ["label", "key=value"],
  names: ["agent"],
  organization: ["sign-up"],
  password: ["password-stdin"],
  pid: ["approval"],
  policy_id: ["policy"],
  policy_path: ["path"],
  resource_id: ["resource"],
  scopes: ["scope"],
  secret: ["secret-stdin"],
  start_time: ["since"],
  stop_after_failures: ["stop-after"],
  type: ["test"],
  types: ["type"],
  url: ["address"],
  user_code: ["confirm"],
};

/** What the relay says about requests, and the same for people at a terminal. */
export const PHRASES: readonly (readonly [said: string, meant: string])[] = [
  [
    "Send `Authorization: Bearer <JWT or API key>` or `x-api-key: <API key>`.",
    "You are not signed in.",
  ],
  ["The Authorization header must be `Bearer <JWT or API key>`.", "The credential is malformed."],
  ["Sign in and send the JWT.", "An API key cannot: sign in with relay login."],
  ["sign in without X-Relay-Space: test.", "sign in."],
  ["Wait for the time in Retry-After.", "Try again later."],
  ["A call with this idempotency key began, but", "The relay began this, but"],
  ["before you repeat it with a new key.", "before you repeat it."],
  ["Send the `cursor` of a previous response.", "Give the --cursor that the page before printed."],
  ["set `type` to test.", "give --test."],
  [
    "or allow it with approvals.self_approval of PATCH /api/shield/settings.",
    "or ask an administrator to allow it (docs/approvals.md).",
  ],
  [
    "sign in now with POST /api/v1/login, and approve with the new token and",
    "sign in again, with",
  ],
  [
    "Change it with POST /api/account/password, sign in again, and",
    "Change it, sign in again, and",
  ],
  ["you may approve it: send", "you may approve it with"],
  ['{"confirm_self_approval": true}', "--own"],
];

const OLDER = "This relay does not know it, and may be older than this program. Its version: " +
  "relay status";

/** An error of the relay in the words of the command that met it. */
export function inWordsOf(command: CommandWords, { message, code, details }: Said): string {
  if (code === "METHOD_NOT_ALLOWED") return OLDER;
  const path = firstPath(details);
  const unknown = /^(?:query|body): Unrecognized keys?: "([^"]+)"/.exec(message)?.[1];
  if (unknown !== undefined) return `${nameOf(unknown, command)}: ${OLDER}`;
  let text = path !== null && message.startsWith(path)
    ? `${nameOf(path, command)}${message.slice(path.length)}`
    : message;
  for (const [said, meant] of PHRASES) text = text.replaceAll(said, meant);
  return text
    .replace(
      /Invalid option: expected one of (.*)/,
      (_, all: string) =>
        `must be one of ${all.split("|").map((one) => one.replaceAll('"', "")).join(", ")}`,
    )
    .replace(/`([a-z_]+)`/g, (_, field: string) => nameOf(field, command));
}

/** The path of the first input that the relay refused; null for none. */
function firstPath({ issues }: Said["details"]): string | null {
  const [first] = Array.isArray(issues) ? issues : [];
  return typeof first?.path === "string" ? first.path : null;
}

/** The option or argument for an input of the API, such as `--status` for `query.status.0`. */
function nameOf(path: string, { takes, rest, options }: CommandWords): string {
  const [, field = path] = /^(?:body|query|params|headers)\.([^.]+)/.exec(path) ?? [];
  const names = [field.replaceAll("_", "-"), ...OTHER_NAMES[field] ?? []];
  const all = rest === undefined ? takes : [...takes, rest];
  for (const name of names) {
    if (options.some((option) => option.name === name)) return `--${name}`;
    const taken = all.find((what) => what.replace(/[?…]+$/, "") === name);
    if (taken !== undefined) return `<${name}>`;
  }
  return field.replaceAll("_", " ");
}
