import { gzipSync } from "node:zlib";
import { DatabaseSync } from "node:sqlite";
import { FIRST_DAY_CONFIG, liveFirstDay } from "./first_day.ts";
import { recordSchemas } from "../kv/maintenance/record_schemas.ts";
import { startProgram } from "../../core/cli/program.ts";
import { START_MS } from "./processes.ts";

/**
 * Makes `tests/fixtures/stores/<name>`: the store that a relay leaves after a first day, and beside it the
 * credentials of that day. A second argument is the `main.ts` of another commit's work tree. For a release of this work
 * tree, such as 0.1.0, it also records the fields of its records.
 */
const STORES = new URL("../fixtures/stores/", import.meta.url);
const RECORDS = new URL("../fixtures/records/", import.meta.url);
const [name, main = new URL("../../main.ts", import.meta.url).pathname] = Deno.args;
if (name === undefined || !/^[a-z0-9.-]+$/.test(name)) {
  console.error("Give the fixture a name: deno task fixture <name> [path of another main.ts]");
  Deno.exit(2);
}

const folder = await Deno.makeTempDir({ prefix: "relay-fixture-" });
const file = `${folder}/relay.kv`;
const secret = "the secret of a stored first day, long enough";
const relay = startProgram(["serve"], {
  main,
  env: {
    RELAY_HOST: "127.0.0.1",
    RELAY_PORT: "0",
    RELAY_KV: file,
    RELAY_SECRET: secret,
    RELAY_CONFIG: JSON.stringify(FIRST_DAY_CONFIG),
  },
});
try {
  const [, url] = await relay.line(/ is ready at (\S+)$/, START_MS);
  await Deno.mkdir(`${folder}/conf`);
  await Deno.writeTextFile(`${folder}/conf/app.ini`, "color = blue\n");
  const day = await liveFirstDay(url!, main, folder);
  const { code } = await relay.stop();
  if (code !== 0) throw new Error(`the relay ended with ${code}:\n${relay.lines.join("\n")}`);
  compact(file);
  const about = { made_at: new Date().toISOString(), secret, ...day };
  await Deno.mkdir(STORES, { recursive: true });
  await Deno.writeFile(new URL(`${name}.kv.gz`, STORES), gzipSync(await Deno.readFile(file)));
  await Deno.writeTextFile(
    new URL(`${name}.json`, STORES),
    `${JSON.stringify(about, null, 2)}\n`,
  );
  console.log(`tests/fixtures/stores/${name}.kv.gz`);
  if (Deno.args.length === 1 && /^\d+\.\d+\.\d+$/.test(name)) {
    const records = JSON.stringify(await recordSchemas(), null, 2);
    await Deno.mkdir(RECORDS, { recursive: true });
    await Deno.writeTextFile(new URL(`${name}.json`, RECORDS), `${records}\n`);
  }
} finally {
  await relay.kill();
  await Deno.remove(folder, { recursive: true });
}

/** One small file. The engine would drop values by the real clock, which goes on: none has an end here. */
function compact(path: string): void {
  const database = new DatabaseSync(path);
  database.exec("UPDATE kv SET expiration_ms = -1");
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  database.exec("PRAGMA journal_mode = DELETE");
  database.exec("VACUUM");
  database.close();
}
