/**
 * Several isolates as workers of one process. An embedded store tells its changes within one process only, so this is
 * how isolates share one where there is no denokv server.
 */
for (let n = 0; n < Number(Deno.env.get("REHEARSAL_ISOLATES")); n++) {
  new Worker(new URL("./isolate.ts", import.meta.url), { type: "module" });
}
