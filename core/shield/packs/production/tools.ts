import type { Rule } from "../../model.ts";
import { OTHER_VERSION_CONTROL } from "../git/others.ts";
import { ADMINISTRATION } from "./administration.ts";
import { rulesOfCalls } from "./calls.ts";
import { DELIVERY } from "../cloud/delivery.ts";
import { OPERATIONS } from "../cloud/operations.ts";
import { BACKUP_CHANGES } from "../machine/backups.ts";
import { CLUSTER_DATA_CHANGES } from "../databases/clusters.ts";
import { DEVICE_CHANGES } from "../machine/devices.ts";
import { CONSOLE_RULES } from "../databases/consoles.ts";
import { DOCUMENT_RULES } from "../databases/documents.ts";
import { STORE_IMPORTS } from "../databases/imports.ts";
import { KEY_RULES } from "../databases/keys.ts";
import { EXPORTS } from "../network/exports.ts";
import { MIGRATIONS } from "./migrations.ts";
import { OWNERSHIP } from "./ownership.ts";
import { PLATFORM_CHANGES } from "./platforms.ts";
import { PUBLISHING } from "./publishing.ts";
import { SECRET_CHANGES } from "./secrets.ts";
import { STATEMENT_RULES } from "./statements.ts";
import { STORE_CHANGES } from "./stores.ts";
import { WORKLOADS } from "./workloads.ts";
import { WRITE_RULES } from "../databases/writes.ts";

/** Changes by the command lines of platforms, migration tools, registries and stores. */
export const TOOL_CHANGES: readonly Rule[] = [
  ...rulesOfCalls([
    ...SECRET_CHANGES,
    ...PLATFORM_CHANGES,
    ...MIGRATIONS,
    ...PUBLISHING,
    ...OWNERSHIP,
    ...STORE_CHANGES,
    ...ADMINISTRATION,
    ...WORKLOADS,
    ...EXPORTS,
    ...OPERATIONS,
    ...DELIVERY,
    ...STORE_IMPORTS,
    ...OTHER_VERSION_CONTROL,
    ...BACKUP_CHANGES,
    ...CLUSTER_DATA_CHANGES,
    ...DEVICE_CHANGES,
  ]),
  ...STATEMENT_RULES,
  ...WRITE_RULES,
  ...CONSOLE_RULES,
  ...KEY_RULES,
  ...DOCUMENT_RULES,
];
