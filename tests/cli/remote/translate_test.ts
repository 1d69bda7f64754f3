import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { REMOTE_COMMANDS } from "../../../core/cli/remote/table.ts";
import { inWordsOf, PHRASES } from "../../../core/cli/remote/translate.ts";

const ROOT = new URL("../../../", import.meta.url);

const commandOf = (name: string) => REMOTE_COMMANDS.find((command) => command.name === name)!;

const told = (name: string, message: string, path?: string, code = "VALIDATION_FAILED") =>
  inWordsOf(commandOf(name), { message, code, details: path ? { issues: [{ path }] } : {} });

/** All source files below a folder, with the parts of each text joined. */
function* sourcesIn(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(new URL(folder, ROOT))) {
    if (isDirectory) yield* sourcesIn(`${folder}${name}/`);
    else if (name.endsWith(".ts") && name !== "translate.ts") {
      const text = Deno.readTextFileSync(new URL(`${folder}${name}`, ROOT));
      yield text.replaceAll(/["`] \+\s+["`]/g, "").replaceAll('\\"', '"');
    }
  }
}

Deno.test("PHRASES: the relay still says each of them", () => {
  const said = ["core/", "routes/"].flatMap((folder) => [...sourcesIn(folder)]).join("\n");
  deq(PHRASES.map(([phrase]) => phrase).filter((phrase) => !said.includes(phrase)), []);
});

Deno.test("inWordsOf: an input of the API is named by the option or argument that gave it", () => {
  const expected: [command: string, path: string, name: string][] = [
    ["commands ls", "query.status.0", "--status"],
    ["commands ls", "query.start_time", "--start-time"],
    ["audit ls", "query.start_time", "--since"],
    ["audit ls", "query.event_type", "--type"],
    ["audit tail", "query.types", "--type"],
    ["listen", "query.since", "--since"],
    ["agents rename", "body.name", "<name>"],
    ["agents label", "body.labels.env", "<key=value>"],
    ["agents show", "params.id", "<agent>"],
    ["keys rotate", "params.id", "<key>"],
    ["keys rotate", "body.grace_period_hours", "--grace-hours"],
    ["keys create", "body.scopes.0", "--scope"],
    ["exec", "body.timeout", "--timeout"],
    ["exec", "body.command", "<command>"],
    ["exec", "body.stop_after_failures", "--stop-after-failures"],
    ["agents upgrade", "body.stop_after_failures", "--stop-after"],
    ["webhooks create", "body.url", "<address>"],
    ["webhooks create", "body.headers.x", "--header"],
    ["webhooks create", "body.secret", "--secret-stdin"],
    ["webhooks resend", "params.del_id", "<delivery>"],
    ["policy plan", "body.policy_path", "--path"],
    ["login", "body.organization", "--sign-up"],
    ["login", "body.user_code", "--confirm"],
    ["alerts ack", "body.alert_id", "<alert>"],
    ["approvals reject", "params.pid", "<approval>"],
    // No option gives it: the relay's own word without its place in the request.
    ["agents show", "body.something_else", "something else"],
  ];
  deq(
    expected.map(([command, path]) => told(command, `${path}: is missing`, path)),
    expected.map(([, , name]) => `${name}: is missing`),
  );
});

Deno.test("inWordsOf: texts about requests say what to do at a terminal", () => {
  eq(
    told(
      "commands ls",
      'query.verdict: Invalid option: expected one of "allow"|"deny"',
      "query.verdict",
    ),
    "--verdict: must be one of allow, deny",
  );
  eq(
    told("login", "The first signup needs `claim_code`, which Relay prints when it starts."),
    "The first signup needs --claim-code, which Relay prints when it starts.",
  );
  eq(
    told(
      "keys ls",
      "Only a signed-in user may do this. Sign in and send the JWT.",
      "",
      "FORBIDDEN",
    ),
    "Only a signed-in user may do this. An API key cannot: sign in with relay login.",
  );
  eq(
    told(
      "approvals approve",
      "This is your own request. You are the only user, so you may approve it: send " +
        '{"confirm_self_approval": true}. The audit log shows it as self-approved.',
    ),
    "This is your own request. You are the only user, so you may approve it with --own. The audit " +
      "log shows it as self-approved.",
  );
  // A path in the middle of a sentence, or of another request, is left alone.
  eq(told("agents ls", "The agent is offline.", "query.status"), "The agent is offline.");
});

Deno.test("inWordsOf: what an older relay does not know is told as that", () => {
  const older = "This relay does not know it, and may be older than this program. Its version: " +
    "relay status";
  eq(
    told("agents ls", 'query: Unrecognized key: "outdated"; known here: limit', "query"),
    `--outdated: ${older}`,
  );
  eq(told("agents upgrade", "This path accepts GET.", undefined, "METHOD_NOT_ALLOWED"), older);
});
