import { hasOption, isRehearsal, optionValues } from "../arguments.ts";
import type { SimpleCommand } from "../command.ts";
import type { Rule } from "../rule.ts";

/** A program and the words by which it throws its database away. */
const RESETS: readonly (readonly [names: string, words: string])[] = [
  ["python python3 django-admin manage.py", "flush reset_db sqlflush"],
  ["rails rake bin/rails", "db:drop db:reset db:purge db:drop:all db:migrate:reset db:setup"],
  ["php artisan", "migrate:fresh migrate:reset migrate:refresh migrate:rollback db:wipe"],
  ["prisma", "reset"],
  ["alembic", "downgrade"],
  ["flask", "downgrade"],
  ["dotnet dotnet-ef", "drop"],
  ["sequelize sequelize-cli", "db:drop db:migrate:undo db:migrate:undo:all"],
  ["knex", "migrate:rollback migrate:down"],
  ["typeorm", "schema:drop migration:revert"],
  ["mikro-orm", "schema:drop schema:fresh migration:down"],
  ["mix", "ecto.drop ecto.reset ecto.rollback"],
  ["flyway", "clean undo"],
  ["liquibase", "drop-all dropall rollback"],
  ["goose", "down reset down-to"],
  ["migrate", "drop down"],
  ["sqlx", "drop reset"],
  ["diesel", "reset"],
  ["drizzle-kit", "drop"],
  ["bin/console doctrine", "doctrine:database:drop doctrine:schema:drop"],
  ["phinx", "rollback"],
  ["dbmate", "drop down rollback"],
  ["atlas", "clean"],
  ["wp", "reset clean"],
  ["drush", "sql-drop sql:drop"],
];

const words = new Map<string, ReadonlySet<string>>();
for (const [names, verbs] of RESETS) {
  for (const name of names.split(" ")) words.set(name, new Set(verbs.split(" ")));
}

function resets(command: SimpleCommand): boolean {
  const verbs = words.get(command.name);
  if (verbs === undefined || isRehearsal(command)) return false;
  // `manage.py flush` is the script's verb; `python flush.py` is another matter.
  const script = SCRIPTED.has(command.name) ? command.args[0] ?? "" : "";
  if (SCRIPTED.has(command.name) && !SCRIPTS.some((name) => script.endsWith(name))) return false;
  return command.args.some((arg) => verbs.has(arg.toLowerCase()));
}

const SCRIPTED = new Set(["python", "python3", "php"]);
const SCRIPTS = ["manage.py", "artisan", "bin/console"];

/** Modules of ansible that end a machine's work. */
const ENDING_MODULES = new Set(["reboot", "shutdown", "win_reboot"]);

function endsByModule(command: SimpleCommand): boolean {
  const modules = optionValues(command, "-m", "--module-name").map((name) =>
    name.slice(name.lastIndexOf(".") + 1)
  );
  return !isRehearsal(command) && !hasOption(command, "--check", "-C") && (
    modules.some((name) => ENDING_MODULES.has(name)) ||
    optionValues(command, "-a", "--args").some((text) => text.includes("state=absent"))
  );
}

/** The database commands of application frameworks and migration tools. */
export const FRAMEWORK_RULES: readonly Rule[] = [
  {
    id: "databases.framework_reset",
    pack: "databases",
    commands: [...words.keys()],
    match: resets,
    blast: 3,
    irreversibility: 4,
    threat: "data_loss",
    explanation: "It drops, empties or rolls back the application's database.",
    safer_alternative: "Take a dump first, and run it on a copy.",
  },
  {
    id: "services.remote_module",
    pack: "services",
    commands: ["ansible"],
    match: endsByModule,
    blast: 4,
    irreversibility: 3,
    threat: "service_disruption",
    explanation:
      "It restarts machines, or removes what is installed on them, on every host it names.",
    safer_alternative: "Run it with --check first, and on one host.",
  },
];
