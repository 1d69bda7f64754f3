import { withFolder } from "../support/processes.ts";
import { liveFirstDay } from "./first_day.ts";

Deno.test("hosted: a first day on isolates of one process holds over a restart of all", () =>
  withFolder((folder) => liveFirstDay({ file: `${folder}/store` })));
