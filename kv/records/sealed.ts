import { z } from "zod";

/** A text that only RELAY_SECRET opens. A field with this schema stands in the table of core/host/secrets/sealed.ts. */
export const Sealed = z.string();
