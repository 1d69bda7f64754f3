/** The words of a text, as a set. */
export const setOf = (text: string): ReadonlySet<string> => new Set(text.split(" "));

/** Options of the clouds' command lines whose value is the next word. */
export const VALUED = setOf(
  "--profile --region --output --query --endpoint-url --ca-bundle --cli-read-timeout --cli-connect-timeout --color " +
    "--cli-binary-format --project --account --format --configuration --verbosity --impersonate-service-account " +
    "--access-token-file --billing-project --flags-file --zone --subscription --resource-group -g -n --name -o " +
    "--location -l -s --scope -p -t --access-token --context --compartment-id --config-file --os-cloud",
);

/** The command lines of smaller clouds, whose calls are nouns and a verb. */
export const SMALL_CLOUDS: readonly string[] =
  ("brightbox cloudcli cinder cntb gcore glance heat ionosctl katapult metal nebius neutron nova ocm otc ovhcloud packet pnapctl rosa stackit tccli ucloud yc")
    .split(" ");

/** What to do instead of changing a cloud by hand. */
export const SAFER = "List or describe first what it would change.";

/** Verbs that change something, over all clouds but AWS; they may be parts of a word. */
export const CHANGES = setOf(
  "abandon accept activate add allocate allow append approve apply assign associate attach authorize boot bulk cancel change " +
    "clone close complete configure convert copy create cutover deactivate deallocate decommission demote deploy detach disable " +
    "disassociate drain edit enable evacuate execute expand extend failback failover grant import init inject insert install invalidate " +
    "invite join launch lock migrate modify move open patch pause perform poweroff poweron promote provision publish " +
    "push put reapply reboot rebuild recover recreate redeploy refresh regenerate register reimage reinstall reload " +
    "remove rename renew replace replicate request rescue reset resize restart restore resume retry revert revoke " +
    "rollback rotate run scale seek set shelve shutdown start stop submit suspend swap switch switchover sync tag transfer " +
    "trigger unassign undelete undeploy unlock unpause unrescue unset unshelve untag update upgrade",
);

/** Words that end the search: what follows them is a name. */
const ASKS = setOf(
  "browse check connect describe diff download export exists get help info inspect list logs login logout ls plan " +
    "print print-access-token pull read search show ssh scp status tail test validate version view wait what-if",
);

/** Whether a word only asks: `list`, `get-iam-policy`. */
export const asks = (word = ""): boolean => ASKS.has(word) || QUESTION.test(word);
const QUESTION = /^(?:check|describe|get|list|show)-/;

/** Verbs stand first (`set-labels`) or last (`instance-start`) in a word. */
export function partChanges(word: string): boolean {
  const dash = word.indexOf("-");
  return dash > 0 &&
    (CHANGES.has(word.slice(0, dash)) || CHANGES.has(word.slice(word.lastIndexOf("-") + 1)));
}

/** Whether a statement only reads; an operation that runs any SQL may do so. */
export const readsBySql = (text: string): boolean =>
  /^\s*(?:select|with|show|explain|describe)\b/i.test(text);

/** `RebootInstance` is `reboot-instance`. */
export const separated = (word: string): string =>
  word.replace(/([a-z])([A-Z])/g, "$1-$2").toLowerCase();
