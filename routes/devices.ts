import { z } from "zod";
import {
  confirmDevice,
  createPairingCode,
  deleteDevice,
  deviceTrust,
  listDevices,
  pairDevice,
} from "../core/agents/agents.ts";
import { agentLabels } from "../core/protocol/protocol.ts";
import { route } from "./call/route.ts";
import {
  CreatedWith,
  Id,
  IdParams,
  listOf,
  Name,
  Named,
  PageQuery,
  Timestamp,
} from "./schemas/schemas.ts";

const TrustStatus = z.enum(["pending", "trusted", "revoked"]).meta({ id: "TrustStatus" });

const Device = z.object({
  id: z.string(),
  name: z.string(),
  labels: z.record(z.string(), z.string()),
  trust_status: TrustStatus,
  agent_id: z.string().nullable().meta({ description: "The agent that runs with it." }),
  last_seen_at: Timestamp.nullable(),
  created_by: z.string().meta({ description: "Who made the pairing code." }),
  created_with: CreatedWith,
  created_at: Timestamp,
  confirmed_at: Timestamp.nullable(),
}).meta({ id: "Device" });

const Secret = z.string().min(1).max(128);
const TRIES = "After 10 failures in 15 minutes from one address it answers 429.";

export const deviceRoutes = [
  route({
    id: "devices.create_code",
    method: "POST",
    path: "/api/devices/pairing-codes",
    summary: "Make a one-time code for pairing a device",
    description: "The code is in this answer only, and good for 10 minutes: " +
      "`relay agent pair --url … --code …` on the machine does the rest.",
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
        description: "Labels that the agent has, whatever it tells of them.",
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
    id: "devices.pair",
    method: "POST",
    path: "/api/devices/pair",
    summary: "Begin the pairing of a device with a one-time code",
    description: "The token is in this answer only, and good for 10 minutes and one " +
      `confirmation. ${TRIES}`,
    access: { public: "the one-time code is the credential" },
    effect: "steps",
    noStore: true,
    audit: { byRule: "device_paired, in the organization of whoever made the code" },
    body: z.strictObject({ device_name: Name, pairing_code: Secret }),
    rules: {
      "body.pairing_code": "is a code that was made and has not been used",
    },
    success: {
      status: 201,
      body: z.object({
        device_id: z.string(),
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
    summary: "Confirm the pairing of a device, and get its credential",
    description:
      "The credential is in this answer only. It opens the link of this device's agent " +
      `and nothing else. ${TRIES}`,
    access: { public: "the single-use token is the credential" },
    effect: "steps",
    noStore: true,
    audit: { byRule: "device_confirmed" },
    body: z.strictObject({ device_id: Id, token: Secret }),
    rules: {
      "body.token": "is the token of the device that waits",
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
        description: "Devices of this status.",
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
    summary: "Delete a device: its credential ends and its link is cut within a second",
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
    success: { status: 204, about: Named.extend({ agent_id: z.string().nullable() }) },
    faults: ["NOT_FOUND"],
    handle: (work, { params }) => deleteDevice(work, params.id),
  }),
  route({
    id: "devices.trust",
    method: "GET",
    path: "/api/devices/{id}/trust",
    summary: "Whether a device is trusted, and why",
    description: "A deleted device is `revoked`, and is remembered for 90 days.",
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
