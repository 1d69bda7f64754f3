import { type Rule, rule, type SimpleCommand } from "../rule.ts";
import { hasOption } from "../../programs/arguments.ts";
import { wordsSaid, wordsTold } from "../phrases.ts";

/** Lists of tasks, and SQL that is printed instead of run. */
const onlyShows = (command: SimpleCommand): boolean =>
  command.name === "rake" || command.name === "rails"
    ? hasOption(command, "-T", "-P", "-D", "-W", "-n", "--tasks", "--prereqs", "--where")
    : command.name === "alembic" || command.name === "flask"
    ? hasOption(command, "--sql")
    : hasOption(command, "--dump-sql") && !hasOption(command, "--force", "-f");

/** Command lines of databases, queues and the tools of application frameworks. */
export const DATA_PHRASES: readonly Rule[] = [
  rule({
    id: "databases.store_removed",
    title: "Delete or format a data store",
    phrases: [
      "hdfs|hadoop dfs|fs -rm -r|-r|-skiptrash",
      "hdfs|hadoop dfs|fs -rmr|-expunge",
      "hdfs namenode -format",
      "neo4j-admin database|dbms drop|delete",
      "neo4j-admin load --overwrite-destination|--force",
      "mysql_install_db|mariadb-install-db …",
      "mysqld|mariadbd --initialize|--initialize-insecure",
    ],
    weight: [4, 4],
    threat: "data_loss",
    explanation:
      "It deletes the data of a database or a disk cluster, or creates an empty one over it.",
    safer: "Take a backup first, and name single files.",
    hits: ["hdfs namenode -format -force", "hadoop fs -rmr /user/hive/warehouse"],
    misses: ["hdfs dfs -ls -R /data", "neo4j-admin database info neo4j"],
  }),
  rule({
    id: "databases.told_to_empty",
    title: "Tell a store to empty itself",
    phrases: [
      "nc|ncat|netcat|telnet flushall|flushdb|flush_all|shutdown",
      "rman delete|drop|restore|recover|duplicate|switch|reset|cmdfile|cmdfile=…|@…",
      "asmcmd rm|drop",
    ],
    words: wordsTold,
    weight: [4, 4],
    threat: "data_loss",
    explanation:
      "Its arguments or input tell it to empty a store, delete backups or stop a server.",
    safer: "Name single keys, or single backups that others replace.",
    hits: ["echo flush_all | nc localhost 11211", "rman target / <<< 'delete noprompt backup;'"],
    misses: ["echo stats | nc localhost 11211", "rman target / <<< 'list backup;'"],
  }),
  rule({
    id: "databases.cli_verbs",
    title: "Delete Kafka topics or records",
    phrases: [
      "kafka-topics|kafka-acls|kafka-configs|kafka-consumer-groups|kafka-reassign-partitions --delete|--remove|--delete-config|--delete-offsets|--cancel",
      "kafka-topics.sh|kafka-acls.sh|kafka-configs.sh|kafka-consumer-groups.sh|kafka-reassign-partitions.sh --delete|--remove|--delete-config|--delete-offsets|--cancel",
      "kafka-delete-records|kafka-delete-records.sh|kafka-streams-application-reset",
      "kafka-storage|kafka-storage.sh format",
      "zkcli.sh delete…|rmr",
    ],
    weight: [3, 4],
    threat: "data_loss",
    explanation: "It deletes topics, groups, records or their settings.",
    safer: "Describe what it would touch first, and try --dry-run.",
    hits: [
      "kafka-topics.sh --delete --topic orders --bootstrap-server k:9092",
      "kafka-consumer-groups --bootstrap-server localhost:9092 --delete --group billing",
    ],
    misses: [
      "kafka-topics.sh --bootstrap-server k:9092 --list",
      "kafka-acls --bootstrap-server localhost:9092 --list",
    ],
  }),
  rule({
    id: "databases.framework_reset",
    title: "Reset an application's database",
    phrases: [
      "python|python3 …manage.py flush|reset_db",
      "django-admin|manage.py flush|reset_db",
      "rails|rake db:drop|db:reset|db:purge|db:drop:all|db:migrate:reset|db:setup",
      "php …artisan migrate:fresh|migrate:reset|migrate:refresh|migrate:rollback|db:wipe",
      "artisan migrate:fresh|migrate:reset|migrate:refresh|migrate:rollback|db:wipe",
      "php …bin/console doctrine:database:drop|doctrine:schema:drop",
      "console|doctrine doctrine:database:drop|doctrine:schema:drop",
      "prisma|diesel reset",
      "alembic|flask downgrade",
      "dotnet|dotnet-ef|drizzle-kit drop",
      "sequelize|sequelize-cli db:drop|db:migrate:undo|db:migrate:undo:all",
      "knex migrate:rollback|migrate:down",
      "typeorm schema:drop|migration:revert",
      "mikro-orm schema:drop|schema:fresh|migration:down",
      "mix ecto.drop|ecto.reset|ecto.rollback",
      "flyway clean|undo",
      "liquibase drop-all|dropall|rollback",
      "goose down|reset|down-to",
      "migrate drop|down",
      "sqlx drop|reset",
      "phinx rollback",
      "dbmate drop|down|rollback",
      "atlas clean",
      "wp reset|clean",
      "drush sql-drop|sql:drop",
    ],
    words: (command) => onlyShows(command) ? [] : wordsSaid(command),
    weight: [3, 4],
    threat: "data_loss",
    explanation: "It drops, empties or rolls back the application's database.",
    safer: "Take a dump first, and run it on a copy.",
    hits: ["rails db:drop", "alembic downgrade base"],
    misses: ["rails db:migrate", "php artisan route:list"],
  }),
];
