import { operands, optionValues } from "../../programs/arguments.ts";
import { once, type Rule, rule, type SimpleCommand, UNKNOWN } from "../rule.ts";

const CLIENTS = ["redis-cli", "valkey-cli", "keydb-cli", "dragonfly-cli", "iredis"];

const VALUED = new Set(
  "-h -p -a -n -u -s -d -D -r -i --user --pass --rdb --pattern --quoted-pattern --cacert --cert --key --sni -t -X"
    .split(" "),
);

/** Commands that write or consume values; modules name theirs `json.set`. */
const WRITES = new Set(
  ("append bitop blmove blmpop blpop brpop brpoplpush bzmpop bzpopmax bzpopmin copy decr decrby del " +
    "delex eval evalsha expire expireat fcall geoadd georadius getdel getex getset hdel hexpire " +
    "hexpireat hgetdel hincrby hincrbyfloat hmset hset hsetex hsetnx hpersist incr incrby incrbyfloat linsert lmove lmpop lpop lpush " +
    "lpushx lrem lset ltrim move mset msetex msetnx persist pexpire pexpireat pfadd pfmerge psetex " +
    "publish rename renamenx restore rpop rpoplpush rpush rpushx sadd sdiffstore set setbit setex " +
    "setnx setrange sinterstore smove spop spublish srem sunionstore unlink xack xadd xautoclaim " +
    "xclaim xdel xgroup xreadgroup xsetid xtrim zadd zdiffstore zincrby zinterstore zmpop zpopmax " +
    "zpopmin zrangestore zrem zremrangebylex zremrangebyrank zremrangebyscore zunionstore flushall " +
    "flushdb swapdb failover")
    .split(" "),
);
const MODULE_WRITES =
  /^(?:json|ts|bf|cf|cms|topk|tdigest|ft|graph|vector|v)\.(?:set|mset|del|forget|add\w*|madd|insert\w*|create\w*|alter|drop\w*|arrappend|arrinsert|arrpop|arrtrim|numincrby|nummultby|clear|merge|strappend|toggle|reserve|incrby|decrby|delete\w*|query|sugadd|sugdel|synupdate|aliasadd|aliasdel|aliasupdate|vadd|vrem)$/;

const isWrite = (word: string): boolean => WRITES.has(word) || MODULE_WRITES.test(word);

type Effect = "writes" | "unseen" | "";

function effectOf(command: SimpleCommand): Effect {
  const { args, stdin } = command;
  if (args.includes("--help") || args.includes("--version")) return "";
  const verb = operands(command, VALUED)[0]?.toLowerCase() ?? "";
  if (isWrite(verb)) return "writes";
  const lines = verb === "" ? stdin?.text?.toLowerCase().split("\n") ?? [] : [];
  if (lines.some((line) => isWrite(line.trim().split(" ", 1)[0]!))) return "writes";
  const takesInput = verb === "" || args.includes("--pipe");
  return verb.startsWith(UNKNOWN) || optionValues(command, "--eval").length > 0 ||
      args.includes("--pipe") ||
      (takesInput && stdin !== null && (stdin.text === null || stdin.text.startsWith(UNKNOWN)))
    ? "unseen"
    : "";
}

const ask = (command: SimpleCommand): Effect => once(command, effectOf);

/** Changes of the keys of Redis and its kin. */
export const KEY_RULES: readonly Rule[] = [
  rule({
    id: "production.keys_writes",
    title: "Write keys of a Redis server",
    commands: CLIENTS,
    when: { ask, answers: ["writes"] },
    match: () => true,
    evenRehearsed: true,
    weight: [3, 3],
    threat: "production_change",
    explanation: "It writes, moves or takes away values of a store in use.",
    safer: "Read the key first, so that its value can be put back.",
    hits: [
      "redis-cli SET feature:checkout on",
      "redis-cli -h cache -n 2 HSET user:1 plan pro",
      "redis-cli EXPIRE session:1 0",
      "echo 'LPOP jobs' | redis-cli",
      "valkey-cli JSON.SET doc $ '{}'",
    ],
    misses: [
      "redis-cli GET user:1",
      "redis-cli -n 2 HGETALL user:1",
      "redis-cli --scan --pattern 'set:*'",
      "echo 'TTL session:1' | redis-cli",
    ],
  }),
  rule({
    id: "production.keys_unseen",
    title: "Run commands on Redis that cannot be seen",
    commands: CLIENTS,
    when: { ask, answers: ["unseen"] },
    match: () => true,
    evenRehearsed: true,
    weight: [3, 3],
    threat: "production_change",
    explanation: "A store runs commands from a file or a script, and the line does not show them.",
    safer: "Read the file first, and send the commands themselves.",
    hits: [
      "cat data.txt | redis-cli --pipe",
      "redis-cli < commands.txt",
      "redis-cli --eval fix.lua user:1 , pro",
    ],
    misses: ["redis-cli", "redis-cli INFO memory", "redis-cli --bigkeys"],
  }),
];
