import { findDenokv, startDenokv } from "../cluster/denokv.ts";
import { withFolder } from "../support/processes.ts";
import { liveFirstDay } from "./first_day.ts";

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
