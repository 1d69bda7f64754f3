import assert from "node:assert/strict";

import { z } from "zod";

import { EVENT_TYPES, PING, WEBHOOK_EVENTS } from "../../../core/events/types/webhook_events.ts";

/** The table of the interface, which may not change. */
const INTERFACE: Readonly<Record<string, readonly string[]>> = {
  Commands: ["command_executed", "command_denied", "command_timeout"],
  Agents: [
    "agent_connected",
    "agent_disconnected",
    "agent_health_changed",
    "agent_created",
    "agent_deleted",
  ],
  Sessions: ["session_started", "session_closed", "session_timeout"],
  Policies: ["policy_created", "policy_updated", "policy_deleted"],
  Approvals: ["approval_requested", "approval_resolved"],
  Compliance: ["compliance_report_generated"],
};

const SCOPES: Readonly<Record<string, string>> = {
  Commands: "agents:read",
  Agents: "agents:read",
  Sessions: "agents:read",
  Policies: "policy:read",
  Approvals: "approvals:read",
  Compliance: "compliance:read",
};

Deno.test("EVENT_TYPES: holds the 17 types of the interface, each in its category", () => {
  assert.equal(EVENT_TYPES.length, 17);
  assert.deepEqual(EVENT_TYPES, Object.values(INTERFACE).flat());
  for (const type of EVENT_TYPES) {
    assert.ok(INTERFACE[WEBHOOK_EVENTS[type].category]?.includes(type), type);
    assert.equal(WEBHOOK_EVENTS[type].scope, SCOPES[WEBHOOK_EVENTS[type].category], type);
    assert.notEqual(WEBHOOK_EVENTS[type].meaning, "", type);
  }
});

Deno.test("WEBHOOK_EVENTS: every example satisfies its schema and survives JSON", () => {
  for (const type of EVENT_TYPES) {
    const { payload, example } = WEBHOOK_EVENTS[type];
    assert.deepEqual(payload.parse(JSON.parse(JSON.stringify(example))), example, type);
  }
  assert.deepEqual(PING.payload.parse(PING.example), PING.example);
});

/** Fields that rows of earlier releases lack. */
const LATER = ["command_id", "rule_id"];

Deno.test("WEBHOOK_EVENTS: a schema refuses a payload with an extra or a missing field", () => {
  for (const type of EVENT_TYPES) {
    const { payload, example } = WEBHOOK_EVENTS[type];
    assert.equal(payload.safeParse({ ...example, surprise: 1 }).success, false, type);
    for (const field of Object.keys(example)) {
      if (type === "command_denied" && LATER.includes(field)) continue;
      const { [field]: _, ...rest } = example as Record<string, unknown>;
      assert.equal(payload.safeParse(rest).success, false, `${type} without ${field}`);
    }
  }
});

Deno.test("WEBHOOK_EVENTS: the payload of command_denied is that of the interface, the command's id and the rule", () => {
  assert.deepEqual(Object.keys(WEBHOOK_EVENTS.command_denied.example), [
    "command_id",
    "command",
    "shield_result",
    "policy_id",
    "rule_id",
    "session_id",
    "correlation_id",
    "user",
  ]);
  assert.deepEqual(Object.keys(WEBHOOK_EVENTS.command_denied.example.shield_result), [
    "risk_score",
    "threats",
    "layer",
  ]);
});

Deno.test("WEBHOOK_EVENTS: every payload has a JSON Schema", () => {
  for (const type of EVENT_TYPES) {
    assert.equal(z.toJSONSchema(WEBHOOK_EVENTS[type].payload)["type"], "object", type);
  }
});

Deno.test("PING: is not among the types that a webhook subscribes to", () => {
  assert.equal(Object.hasOwn(WEBHOOK_EVENTS, PING.type), false);
});
