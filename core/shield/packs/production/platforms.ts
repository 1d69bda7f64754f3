import type { Rule } from "../../model.ts";
import { rule } from "../rule.ts";

/** Changes of hosted platforms, by their command lines. */
export const PLATFORM_CHANGES: readonly Rule[] = [
  rule({
    id: "production.platform_variables",
    title: "Change the variables of a hosted application",
    phrases: ["heroku config:set|config:unset|config:edit"],
    weight: [3, 3],
    threat: "production_change",
    explanation: "It changes the variables of a running application, which restarts it.",
    safer: "List the variables first, and change one in a staging application.",
    hits: [
      "heroku config:set LOG_LEVEL=debug -a shop",
      "heroku config:unset OLD_KEY -a shop",
      "heroku config:edit -a shop",
    ],
    misses: ["heroku config -a shop", "heroku config:get LOG_LEVEL -a shop", "heroku ps -a shop"],
  }),
];
