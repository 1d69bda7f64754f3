import type { Rule } from "../../model.ts";
import { AWS_CHANGES } from "./aws.ts";
import { CLOUD_CHANGES } from "./clouds.ts";
import { CLUSTER_CHANGES } from "./clusters.ts";
import { CONTAINER_CHANGES } from "./containers.ts";
import { CONFIGURATION_CHANGES } from "./configuration.ts";
import { INFRASTRUCTURE_CHANGES } from "./infrastructure.ts";
import { MACHINE_CHANGES } from "../machine/changes.ts";
import { ORCHESTRATION_CHANGES } from "./orchestration.ts";
import { PACKAGE_CHANGES } from "./packages.ts";
import { RELEASE_CHANGES } from "./releases.ts";
import { SERVER_CHANGES } from "./servers.ts";
import { SERVICE_CHANGES } from "./services.ts";
import { SETTING_CHANGES } from "./settings.ts";
import { TOOL_CHANGES } from "./tools.ts";
import { REQUEST_CHANGES } from "./requests.ts";

/** What alters a running system without destroying it. */
export const PRODUCTION_RULES: readonly Rule[] = [
  ...CLUSTER_CHANGES,
  ...ORCHESTRATION_CHANGES,
  ...TOOL_CHANGES,
  ...SERVICE_CHANGES,
  ...SERVER_CHANGES,
  ...SETTING_CHANGES,
  ...MACHINE_CHANGES,
  ...CONTAINER_CHANGES,
  ...PACKAGE_CHANGES,
  ...RELEASE_CHANGES,
  ...INFRASTRUCTURE_CHANGES,
  ...CONFIGURATION_CHANGES,
  ...AWS_CHANGES,
  ...CLOUD_CHANGES,
  ...REQUEST_CHANGES,
];
