/**
 * Several isolates as workers of one process. An embedded store tells its changes within one process only, so this is
 * how isolates share one where there is no denokv server.
 */
// SQLite does not wait for a lock while a new file is set up, so nobody else may open it then.
(await Deno.openKv(Deno.env.get("REHEARSAL_STORE"))).close();

for (let n = 0; n < Number(Deno.env.get("REHEARSAL_ISOLATES")); n++) {
  new Worker(new URL("./isolate.ts", import.meta.url), { type: "module" });
}
