import { strictEqual as eq } from "node:assert/strict";
import { placeIn } from "../../events/stream_fixtures.ts";
import { forbidding, withRepository } from "../../policies/git_fixtures.ts";
import { deliveriesOf, makeHook } from "../../support/linked_agent.ts";
import type { Account, World } from "../../support/world.ts";

/** The commands about the audit log, alerts, webhooks, the shield and policies. */
export const OVERSIGHT_LINES = [
  "audit ls --type approval_resolved",
  "audit ls --type approval_resolved --limit 1 --json",
  "audit ls --agent web-1 --limit 1 -q",
  "audit ls --agent web-none",
  "audit ls --result sometimes",
  "audit tail --after $POSITION --type approval_resolved --count 2",
  "audit tail --after $POSITION --type approval_resolved --count 2 --json",
  "audit tail --severity loud",
  "audit export --format csv --type alert_acknowledged",
  "audit export --file $FILE --type approval_resolved",
  "audit export --file $FILE --type approval_resolved --json",
  "audit export --format xml",
  "audit verify $FILE",
  "audit verify $FILE --json",
  "audit verify $FILE -q",
  "audit verify",
  "audit verify nowhere.ndjson",
  "audit verify $FILE --consistency $FILE",
  "audit verfy",
  "report verify $REPORT",
  "report verify $REPORT --json",
  "report verify $FILE",
  "evidence 24h --file $ARCHIVE",
  "evidence 24h --file $ARCHIVE --json",
  "evidence tomorrow",
  "evidence verify $ARCHIVE",
  "evidence verify $ARCHIVE --json",
  "evidence verify $ARCHIVE -q",
  "evidence verify $FILE",
  "evidence verify nowhere.tar",
  "alerts ls --severity warning",
  "alerts ls --severity warning --json",
  "alerts ls --agent web-none",
  "alerts ls --severty warning",
  "alerts ack $ALERT --reason looking",
  "alerts ack $ALERT",
  "alerts ack $ALERT2 --json",
  "alerts resolve $ALERT --reason cleaned",
  "alerts resolve $ALERT2 --json",
  "alerts ls --state resolved -q",
  "webhooks ls",
  "webhooks ls --json",
  "webhooks create ci https://ci.example.com/hook",
  "webhooks create ci https://ci.example.com/hook --type agent_deleted --secret-stdin",
  "webhooks create ci https://ci.example.com/hook --type agent_deleted --inactive --json",
  "webhooks create ci https://ci.example.com/hook --type agent_deleted --header x",
  "webhooks deliveries $HOOK",
  "webhooks deliveries $HOOK --json",
  "webhooks resend $HOOK $DELIVERY",
  "webhooks resend $HOOK $DELIVERY2 --json",
  "webhooks trigger $HOOK",
  "webhooks trigger $HOOK --type agent_deleted --json",
  "webhooks trigger whk_missing",
  "listen",
  "listen --forward nowhere --json",
  "shield test uptime",
  "shield test $STOP",
  "shield test $WIPE",
  "shield test $WIPE --agent web-1 -l env=test --json",
  "shield test $WIPE -q",
  "shield test rm -rf /",
  "shield replay $HISTORY",
  "shield replay $HISTORY --json",
  "shield replay nowhere",
  "policy plan policies",
  "policy plan policies --json",
  "policy plan policies --path nowhere",
  "policy plan others",
  "policy apply policies",
  "policy apply policies --yes",
  "policy apply policies --yes --json",
  "policy apply policies",
  "policy ls",
  "policy ls --json",
  "policy rollback a 1",
  "policy rollback a 1 --yes",
  "policy rollback a 9 --yes",
  "policy rollback a 1 --yes --json",
  "policy --help",
  "audit verify --help",
];

/** Ids and secrets as long as they are, and no numbers of rows. */
export const withoutOversightIds = (text: string): string =>
  text.replaceAll(
    /\b(alr|whk|dlv|rpo|pol|rep|evd)_(?!missing)(\w{4,})/g,
    (found, prefix) => `${prefix}_`.padEnd(found.length, "0"),
  )
    .replaceAll(/(?<=whsec_)[\w+/]+/g, (found) => "0".repeat(found.length))
    .replaceAll(/(?<=--after |--cursor |"cursor": ")[\w:.]+/g, "position")
    // What happens in the background moves the numbers of rows.
    .replaceAll(/(?<="seq": |"rows": |which had |valid: )\d+/g, "0")
    .replaceAll(
      /(?<=rows: |(?:log_rows|checkpoints|receipts)": |checkpoints: |log holds |log had )\d+/g,
      "0",
    )
    .replaceAll(/(?<=rows: 0 of |agents' keys: )\d+/g, "0")
    .replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "0".repeat(36));

/** Makes what the lines are about. */
export async function furnishOversight(
  world: World,
  owner: Account,
): Promise<Record<string, string>> {
  const as = owner.token;
  const tenant = { org: owner.org, space: "live" } as const;
  const { host } = await withRepository(world, { policy_path: "policies" }, owner);
  const git = world.network.reply;
  world.network.reply = (request) => `${request.url}`.startsWith(host.url) ? git(request) : 204;
  await host.commit({ "policies/a.yaml": forbidding("nmap") });
  const alerts = [
    { name: "DiskFull", severity: "critical", agent_id: "web-1" },
    { name: "Slow", labels: { host: "db-1" } },
  ];
  const body = { source: "scanner", alerts };
  eq((await world.call("POST", "/api/shield/ingest", { as, body })).status, 200);
  const listed = (await world.call("GET", "/api/shield/alerts?source=scanner", { as })).body.alerts;
  const [ALERT, ALERT2] = ["DiskFull", "Slow"].map((wanted) =>
    listed.find(({ name }: { name: string }) => name === wanted).alert_id
  );
  const hook = await makeHook(world, owner, ["agent_deleted"]);
  const test = `/api/v1/webhooks/${hook.id}/test`;
  for (let n = 0; n < 2; n++) await world.call("POST", test, { as, body: {} });
  const { deliveries: [first, second] } = await deliveriesOf(world, owner, hook.id);
  await world.shareCounts();
  return {
    ALERT,
    ALERT2,
    HOOK: hook.id,
    DELIVERY: first.id,
    DELIVERY2: second.id,
    POSITION: placeIn(world, owner, await world.app.log.head(tenant)),
    STOP: "systemctl stop nginx",
    WIPE: "rm -rf /",
  };
}
