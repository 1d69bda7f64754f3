import { z } from "zod";
import {
  confirmDevice,
  createPairingCode,
  deleteDevice,
  deletePairingCode,
  deviceTrust,
  listDevices,
  listPairingCodes,
  pairDevice,
} from "../core/agents/agents.ts";
import { agentLabels } from "../core/protocol/protocol.ts";
import { route } from "./call/route.ts";
import {
  CreatedWith,
  DeletedResource,
  Id,
  IdParams,
  listOf,
  Name,
  PageQuery,
  Timestamp,
} from "./schemas/schemas.ts";

const TrustStatus = z.enum(["pending", "trusted", "revoked"]).meta({ id: "TrustStatus" });

const Device = z.object({
  id: z.string(),
  name: z.string(),
  agent_name: z.string().nullable().meta({
    description: "The name of its agent, or the one that is reserved for it.",
  }),
  labels: z.record(z.string(), z.string()),
  trust_status: TrustStatus,
  agent_id: z.string().nullable().meta({
    description: "The agent that uses the device's credential.",
  }),
  pairing_code_id: z.string().nullable().meta({
    description: "The id of the code that paired it; null where an earlier version did.",
  }),
  last_seen_at: Timestamp.nullable(),
  created_by: z.string().meta({ description: "The creator of the pairing code." }),
  created_with: CreatedWith,
  created_at: Timestamp,
  confirmed_at: Timestamp.nullable(),
}).meta({ id: "Device" });

/** A pairing code without its value. */
const PairingCode = z.object({
  id: z.string(),
  labels: z.record(z.string(), z.string()),
  created_by: z.string(),
  created_with: CreatedWith,
  expires_at: Timestamp,
}).meta({ id: "PairingCode" });

const Secret = z.string().min(1).max(128);
const TRIES = "After 10 failures in 15 minutes from one address the response is 429.";

export const deviceRoutes = [
  route({
    id: "devices.create_code",
    method: "POST",
    path: "/api/devices/pairing-codes",
    summary: "Create a one-time pairing code",
    description:
      "Only this response shows the code. It is valid for 10 minutes; use it on the machine " +
      "with `relay agent pair --url … --code …`.",
    access: { scope: "agents:admin" },
    effect: "write",
    noStore: true,
    audit: {
      event: "device_code_created",
      resource: "pairing_code",
      id: ({ id }) => id,
      details: ({ expires_at, labels }) => ({ expires_at, labels }),
    },
    body: z.strictObject({
      labels: agentLabels.default({}).meta({
        description:
          "The agent's labels; they take precedence over the labels that the agent reports.",
      }),
    }),
    success: {
      status: 201,
      body: z.object({
        id: z.string(),
        pairing_code: z.string().meta({ examples: ["7K3M-QX1D-0ZTA-94HV"] }),
        labels: z.record(z.string(), z.string()),
        expires_at: Timestamp,
      }),
    },
    faults: ["FORBIDDEN", "CONFLICT"],
    handle: (work, { body }) => createPairingCode(work, body),
  }),
  route({
    id: "devices.list_codes",
    method: "GET",
    path: "/api/devices/pairing-codes",
    summary: "List pairing codes",
    description:
      "The newest 1,000 codes, as far as they are neither used nor expired, without their values.",
    access: { scope: "agents:read" },
    effect: "read",
    query: PageQuery,
    success: { status: 200, body: listOf("pairing_codes", PairingCode) },
    faults: [],
    handle: (work, { query }) => listPairingCodes(work, query),
  }),
  route({
    id: "devices.delete_code",
    method: "DELETE",
    path: "/api/devices/pairing-codes/{id}",
    summary: "Void a pairing code",
    description: "A code that a device has used is a 404: delete the device instead.",
    access: { scope: "agents:admin" },
    effect: "write",
    audit: {
      event: "device_code_deleted",
      resource: "pairing_code",
      id: ({ id }) => id,
      details: () => ({}),
    },
    params: IdParams,
    success: { status: 204, about: z.object({ id: z.string() }) },
    faults: ["NOT_FOUND"],
    handle: (work, { params }) => deletePairingCode(work, params.id),
  }),
  route({
    id: "devices.pair",
    method: "POST",
    path: "/api/devices/pair",
    summary: "Start pairing a device",
    description:
      "Only this response shows the token. It is valid for 10 minutes and one confirmation. " +
      `${TRIES}`,
    access: { public: "the one-time code is the credential" },
    effect: "steps",
    noStore: true,
    audit: { byRule: "device_paired, in the organization of the code's creator" },
    body: z.strictObject({ device_name: Name, pairing_code: Secret }),
    rules: {
      "body.pairing_code": "must be an unused pairing code",
    },
    success: {
      status: 201,
      body: z.object({
        device_id: z.string(),
        agent_name: z.string().meta({
          description: "The name that its agent will have: `device_name` in the form of names, " +
            "with a number if another agent has it.",
        }),
        token: z.string(),
        token_expires_at: Timestamp,
        trust_status: TrustStatus,
      }),
    },
    faults: ["CONFLICT", "GONE"],
    handle: (work, { body }, { pairings }) => pairDevice(work, pairings, body),
  }),
  route({
    id: "devices.confirm",
    method: "POST",
    path: "/api/devices/confirm",
    summary: "Confirm a pairing and get the device's credential",
    description:
      "Only this response shows the credential. It opens the link of this device's agent and " +
      `nothing else. ${TRIES}`,
    access: { public: "the single-use token is the credential" },
    effect: "steps",
    noStore: true,
    audit: { byRule: "device_confirmed" },
    body: z.strictObject({ device_id: Id, token: Secret }),
    rules: {
      "body.token": "must be the token of a device that awaits confirmation",
    },
    success: { status: 200, body: z.object({ device: Device, credential: z.string() }) },
    faults: ["CONFLICT", "GONE"],
    handle: (work, { body }, { pairings }) => confirmDevice(work, pairings, body),
  }),
  route({
    id: "devices.list",
    method: "GET",
    path: "/api/devices",
    summary: "List devices",
    access: { scope: "agents:read" },
    effect: "read",
    query: PageQuery.extend({
      trust_status: z.enum(["pending", "trusted"]).optional().meta({
        description: "Devices with this status.",
      }),
      pairing_code_id: Id.optional().meta({
        description: "The device that this code paired, if it was used.",
      }),
    }),
    success: { status: 200, body: listOf("devices", Device) },
    faults: [],
    handle: (work, { query }) => listDevices(work, query),
  }),
  route({
    id: "devices.delete",
    method: "DELETE",
    path: "/api/devices/{id}",
    summary: "Delete a device and end its credential",
    description: "The device's credential stops working and its link closes within a second.",
    access: { scope: "agents:admin" },
    effect: "write",
    audit: {
      event: "device_deleted",
      resource: "device",
      id: ({ id }) => id,
      agentId: ({ agent_id }) => agent_id,
      details: ({ name }) => ({ name }),
    },
    params: IdParams,
    success: { status: 204, about: DeletedResource.extend({ agent_id: z.string().nullable() }) },
    faults: ["NOT_FOUND"],
    handle: (work, { params }) => deleteDevice(work, params.id),
  }),
  route({
    id: "devices.trust",
    method: "GET",
    path: "/api/devices/{id}/trust",
    summary: "Get a device's trust state",
    description:
      "Says why the device is trusted or not. A deleted device is `revoked` and listed for 90 " +
      "days.",
    access: { scope: "agents:read" },
    effect: "read",
    params: IdParams,
    success: {
      status: 200,
      body: z.object({
        device_id: z.string(),
        name: z.string(),
        trust_status: TrustStatus,
        trusted: z.boolean(),
        reasons: z.array(z.object({
          code: z.string(),
          message: z.string(),
          at: Timestamp.nullable(),
        })),
      }),
    },
    faults: ["NOT_FOUND"],
    handle: (work, { params }) => deviceTrust(work, params.id),
  }),
];
