import { Config } from "../../core/context/config.ts";

/** The default waits between the attempts of a delivery, in ms. */
export const LADDER_MS: readonly number[] = Config.parse({}).webhooks.retry_delays_seconds
  .map((seconds) => seconds * 1000);

/** The first of them. */
export const FIRST_RETRY_MS = LADDER_MS[0]!;
