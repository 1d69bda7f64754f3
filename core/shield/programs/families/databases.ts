import type { ReadFile } from "../../interpreter/inner.ts";
import { generatedSql } from "../../code/generated_sql.ts";
import { type SimpleCommand, textFlow } from "../../model.ts";
import { optionValues } from "../arguments.ts";
import type { Family } from "../family.ts";
import { always, valuesOf } from "../texts.ts";
import { noteOutputIn } from "./archives.ts";

/** Command lines in the SQL and in the options of a client. */
function clientRuns(command: SimpleCommand, readFile: ReadFile): string[] {
  return [
    ...optionValues(command, "--pager"),
    ...[
      ...optionValues(command, "-c", "-e"),
      ...command.args,
      ...(command.stdin?.text ?? "").split("\n"),
      ...optionValues(command, "-f", "--file", "-init").flatMap((path) =>
        (readFile(path)?.text ?? "").split("\n")
      ),
    ].flatMap(shellEscape),
  ];
}

/** Clients hand such lines to a shell: `\\! text`, `.shell text`, `\\o |text`, `.once '|text'`. */
function shellEscape(line: string): string[] {
  const text = line.trim();
  const mark = ESCAPES.find((one) => text.startsWith(one));
  if (mark !== undefined) return [text.slice(mark.length)];
  const found = PIPES.exec(text);
  return found === null ? [] : [found[1] ?? found[2] ?? ""];
}

const ESCAPES = ["\\!", "system ", "pager ", ".shell ", ".system "];
const PIPES =
  /(?:\\(?:o|out|gx?|w)|^\.(?:once|output|import))\s*['"]?\|([^'"]*)|^\\copy\b.*\bprogram\s+'([^']*)/i;

/** `SELECT * FROM` writes out a whole table. */
const writesTable = ({ args }: SimpleCommand): boolean =>
  args.some((arg) => {
    const lower = arg.toLowerCase();
    return lower.includes("select * from") && !lower.includes(" limit ");
  });

/** Database clients, and programs that dump a database. */
export const DATABASES: readonly Family[] = [
  { names: ["psql"], valuedLetters: "cdfFhLopPRTUv", runs: clientRuns, scripted: true },
  { names: ["mysql", "mariadb"], valuedLetters: "DehpPSu", runs: clientRuns, scripted: true },
  {
    names: ["psql"],
    dumps: ({ args }) => args.some((arg) => /\bcopy\b.*\bto\s+(?:stdout|pstdout)/is.test(arg)),
  },
  { names: ["cqlsh", "duckdb"], runs: clientRuns },
  {
    names: ["sqlite3"],
    runs: clientRuns,
    reads: "shown",
    scripted: true,
    dumps: ({ args }) => args.some((arg) => arg.startsWith(".dump")),
  },
  {
    names: ["psql", "mysql", "mariadb"],
    // A query that writes statements prints them, and another client may run them.
    prints: ({ args }, incoming) => {
      const text = generatedSql([...args, incoming.text ?? ""].join("\n"));
      return text === null ? null : textFlow(text);
    },
  },
  {
    names: ["manage.py", "django-admin"],
    noteFiles: noteOutputIn((command) =>
      command.args.includes("dumpdata") ? optionValues(command, "-o", "--output") : []
    ),
    dumps: ({ args }) => args.includes("dumpdata"),
  },
  {
    names: ["supabase"],
    noteFiles: noteOutputIn((command) =>
      command.args.includes("dump") ? optionValues(command, "-f", "--file") : []
    ),
    dumps: ({ args }) => args.includes("dump") && !args.includes("--dry-run"),
  },
  { names: ["redis-cli"], dumps: ({ args }) => args.includes("--rdb") },
  { names: ["pg_dump", "pg_dumpall"], writes: valuesOf("-f", "--file") },
  { names: ["mysqldump", "mariadb-dump"], writes: valuesOf("-r", "--result-file") },
  {
    names: ["sqlite3"],
    writes: ({ args }) =>
      args.flatMap((arg) =>
        /^\s*\.(?:output|once|backup|save|log)\s+['"]?([^'"\s|]+)/.exec(arg)?.[1] ?? []
      ),
  },
  {
    names: ["pg_dump"],
    noteFiles: noteOutputIn((command) => optionValues(command, "-f", "--file")),
    dumps: always,
  },
  {
    names: ["pg_dumpall", "mysqldump", "mysqlpump", "mongodump", "mongoexport"],
    noteFiles: noteOutputIn((command) =>
      optionValues(command, "-out", "-o", "--out", "--output", "--result-file", "--archive")
    ),
    dumps: always,
  },
  {
    names: ["mysql", "mariadb", "sqlcmd", "clickhouse-client", "cqlsh", "bq", "snowsql", "trino"],
    dumps: writesTable,
  },
  {
    names: ["pg_basebackup", "mariadb-dump", "slapcat", "ldapsearch"],
    dumps: always,
  },
];
