import { findDenokv, startDenokv } from "../cluster/denokv.ts";
import { withFolder } from "../support/processes.ts";
import { liveFirstDay } from "./first_day.ts";

// Both wait for the death of an isolate to be noticed, and stand in one file so that only one of them waits at a time.
Deno.test("hosted: a first day on isolates of one process holds over a restart of all", () =>
  withFolder((folder) => liveFirstDay({ file: `${folder}/store` })));

const denokv = await findDenokv();
if (denokv === null) {
  console.log("denokv is not on the path: the rehearsal with isolates in processes is skipped");
}

Deno.test({
  name: "hosted: a first day on isolates in processes of their own holds over a restart of all",
  ignore: denokv === null,
  fn: () =>
    withFolder(async (folder) => {
      const kv = await startDenokv(denokv!, `${folder}/store.sqlite`);
      try {
        await liveFirstDay({ server: kv.url });
      } finally {
        await kv.kill();
      }
    }),
});
