import { writesDocuments } from "../../code/mongo.ts";
import { hasOption, operands, optionValues } from "../../programs/arguments.ts";
import { isScratch, NAMED_AS_READING, touchesNothing } from "./scratch.ts";
import { once, type Rule, rule, type SimpleCommand, UNKNOWN } from "../rule.ts";

const SHELLS = ["mongosh", "mongo"];

type Effect = "writes" | "unseen" | "";

function effectOf(command: SimpleCommand): Effect {
  if (touchesNothing(command) || hasOption(command, "--nodb") || isScratch(command)) return "";
  const given = optionValues(command, "--eval", "-e");
  const texts = [...given, command.stdin?.text ?? ""];
  if (texts.some(writesDocuments)) return "writes";
  const files = [
    ...operands(command, VALUED).filter((word) => SCRIPT.test(word)),
    ...optionValues(command, "-f", "--file"),
  ];
  const isUnseen = files.some((file) => !NAMED_AS_READING.test(file)) ||
    texts.some((text) => text.startsWith(UNKNOWN) || /\bload\s*\(/.test(text)) ||
    (given.length === 0 && files.length === 0 && command.stdin !== null &&
      command.stdin.text === null);
  return isUnseen ? "unseen" : "";
}

const VALUED = new Set([
  "--eval",
  "-e",
  "-u",
  "-p",
  "--username",
  "--password",
  "--host",
  "--port",
]);
const SCRIPT = /\.(?:m?js|cjs|mongodb|ts)$/;

const ask = (command: SimpleCommand): Effect => once(command, effectOf);

/** Changes of the documents, the indexes and the collections of MongoDB. */
export const DOCUMENT_RULES: readonly Rule[] = [
  rule({
    id: "production.documents_writes",
    title: "Write to a MongoDB database",
    commands: SHELLS,
    when: { ask, answers: ["writes"] },
    match: () => true,
    evenRehearsed: true,
    weight: [3, 3],
    threat: "production_change",
    explanation: "The code writes documents, indexes or collections of a database in use.",
    safer: "Count what the filter matches first, and put the change into a reviewed script.",
    hits: [
      "mongosh shop --eval 'db.orders.updateMany({a:1},{$set:{b:2}})'",
      "mongosh shop --eval 'db.orders.createIndex({userId:1})'",
      "mongosh shop --eval 'db.p.aggregate([{$match:{}},{$out:\"live\"}])'",
      "mongosh shop --eval 'db.runCommand({collMod:\"orders\",validator:{}})'",
      "echo 'db.a[\"insertOne\"]({b:1})' | mongosh shop",
    ],
    misses: [
      "mongosh shop --eval 'db.orders.find({note:/updateMany(/})'",
      "mongosh shop --eval 'db.orders.explain(\"executionStats\").remove({a:1})'",
      "mongosh shop --eval 'db.p.aggregate([{$group:{_id:\"$out\"}}])'",
      "mongosh shop_test --eval 'db.orders.insertOne({a:1})'",
      "mongosh --nodb --eval 'print(\"db.a.drop()\")'",
    ],
  }),
  rule({
    id: "production.documents_unseen",
    title: "Run a script on a MongoDB database",
    commands: SHELLS,
    when: { ask, answers: ["unseen"] },
    match: () => true,
    evenRehearsed: true,
    weight: [3, 3],
    threat: "production_change",
    explanation: "A database runs a script, and the line does not show what it does.",
    safer: "Read the script first, and send its statements with --eval.",
    hits: [
      'mongosh "mongodb://db-prod/shop" cleanup.js',
      "mongosh shop < fix.js",
      "mongosh shop --eval 'load(\"fix.js\")'",
    ],
    misses: [
      "mongosh shop report.js",
      "mongosh shop",
      "echo 'db.stats()' | mongosh shop",
      "mongosh --nodb fix.js",
    ],
  }),
];
