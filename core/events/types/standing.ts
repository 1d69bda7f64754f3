import { z } from "zod";
import { SUSPENSION_REASONS } from "../../../kv/records/standing.ts";
import { id } from "./fields.ts";
import { event } from "./event.ts";

const name = z.string().describe("Its name.");

/** Repositories, webhooks, integrations and ingest tokens, which act with the rights of a person. */
export const standingEvents = {
  standing_suspended: event({
    meaning:
      "a repository, webhook, integration or ingest token was suspended, because its person lost rights it needs",
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
    meaning: "a suspended repository, webhook, integration or ingest token has its rights again",
    details: z.strictObject({ name }),
    example: { name: "policies" },
  }),
  standing_adopted: event({
    meaning:
      "a person adopted a suspended repository, webhook, integration or ingest token, which now acts with their rights",
    details: z.strictObject({
      name,
      acted_for: id("person for whom it acted before"),
      acts_for: id("person for whom it acts since"),
    }),
    example: { name: "policies", acted_for: "usr_0m3x1", acts_for: "usr_0m3x2" },
  }),
};
