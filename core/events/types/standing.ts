import { z } from "zod";
import { SUSPENSION_REASONS } from "../../../kv/records/standing.ts";
import { id } from "./fields.ts";
import { event } from "./event.ts";

const name = z.string().describe("Its name.");

/** Repositories, webhooks, integrations and ingest tokens act with the rights of a person. */
export const standingEvents = {
  standing_suspended: event({
    meaning: "a repository, webhook, integration or ingest token lost rights that it acts with",
    details: z.strictObject({
      name,
      person: id("person for whom it acts"),
      reason: z.enum(SUSPENSION_REASONS).describe(
        "`removed`: the person is gone. `inactive`: deactivated. `rights`: demoted.",
      ),
      missing: z.array(z.string()).describe("The rights that it needs and the person lacks."),
    }),
    example: {
      name: "policies",
      person: "usr_0m3x1",
      reason: "inactive",
      missing: ["policy:write"],
    },
  }),
  standing_resumed: event({
    meaning: "the rights of something that was suspended are complete again",
    details: z.strictObject({ name }),
    example: { name: "policies" },
  }),
  standing_adopted: event({
    meaning: "somebody took over what was suspended: it acts with their rights since",
    details: z.strictObject({
      name,
      acted_for: id("person for whom it acted before"),
      acts_for: id("person for whom it acts since"),
    }),
    example: { name: "policies", acted_for: "usr_0m3x1", acts_for: "usr_0m3x2" },
  }),
};
