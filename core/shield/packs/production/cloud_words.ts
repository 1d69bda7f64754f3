/** The words of a text, as a set. */
export const setOf = (text: string): ReadonlySet<string> => new Set(text.split(" "));

/** Options of the clouds' command lines whose value is the next word. */
export const VALUED = setOf(
  "--profile --region --output --query --endpoint-url --ca-bundle --cli-read-timeout --cli-connect-timeout --color " +
    "--cli-binary-format --project --account --format --configuration --verbosity --impersonate-service-account " +
    "--access-token-file --billing-project --flags-file --zone --subscription --resource-group -g -n --name -o " +
    "--location -l -s --scope -p -t --access-token --context --compartment-id --config-file --os-cloud",
);

/** What to do instead of changing a cloud by hand. */
export const SAFER = "List or describe first what it would change.";
