"""Hooks of a schemathesis run: real ids, what keeps the run alive, and which failures are explained."""

import json
import os
import random

import schemathesis
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation import GenerationMode

SETUP = json.loads(os.environ["CONTRACT_SETUP"])
# The ids of real records, by operation and path parameter.
IDS = SETUP["ids"]
# What the run stands on: its own session, person and organization, the agent and the agent's key.
KEPT = frozenset(SETUP["kept"])
# Failures that are not the relay's, each with its reason.
ALLOWED = SETUP["allowed"]
REAL_SHARE = 0.5
ENDS_ACCESS = frozenset(
    {
        "account.end_session",
        "accounts.change_plan",
        "accounts.toggle",
        "agents.delete",
        "api_keys.delete",
        "api_keys.revoke",
        "api_keys.rotate",
        "api_keys.update",
        "limits.set",
        "users.deactivate",
    }
)
dice = random.Random(SETUP["seed"])


@schemathesis.hook
def before_call(context, case, kwargs):
    name = operation_of(case)["operationId"]
    # Links bring ids of their own.
    if is_well_formed(case) and case.meta.phase.name.value != "stateful":
        for key, ids in IDS.get(name, {}).items():
            if dice.random() < REAL_SHARE:
                case.path_parameters[key] = dice.choice(ids)
    if name in ENDS_ACCESS:
        for key, value in (case.path_parameters or {}).items():
            if value in KEPT:
                case.path_parameters[key] = "kept"
    # Nobody here has a second factor: once it is required, everybody is shut out.
    if name == "second_factor.require" and case.body == {"required": True}:
        case.body = {"required": False}


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Drops what the document explains by `x-rules`, or the list of what is allowed."""
    why = rules_broken(failure, case, response) or allowance(failure, case, response)
    if not why:
        return True
    with open(SETUP["explained"], "a") as explained:
        explained.write(json.dumps([operation_of(case)["operationId"], why]) + "\n")
    return False


@schemathesis.deserializer("application/x-ndjson")
def lines_of_json(context, response):
    return [json.loads(line) for line in response.content.splitlines()]


def operation_of(case):
    return case.operation.definition.raw


def is_well_formed(case):
    """Whether nothing is wrong with the path on purpose."""
    path = case.meta.components.get(ParameterLocation.PATH)
    return path is not None and path.mode == GenerationMode.POSITIVE


def rules_broken(failure, case, response):
    """The rules beyond the schemas that a refusal names, when it names nothing else."""
    if type(failure).__name__ != "RejectedPositiveData" or response.status_code != 400:
        return None
    rules = operation_of(case).get("x-rules", {})
    broken = [rule_of(issue["path"], rules) for issue in issues_of(response)]
    return ", ".join(sorted(set(broken))) if all(broken) else None


def rule_of(path, rules):
    return next((rule for rule in rules if path == rule or path.startswith(rule + ".")), None)


def issues_of(response):
    if not response.content:
        return []
    error = response.json().get("error", {})
    return error.get("details", error.get("data", {}).get("details", {})).get("issues", [])


def allowance(failure, case, response):
    for allowed in ALLOWED:
        if (
            type(failure).__name__ in allowed["failures"]
            and response.status_code == allowed["status"]
            and allowed.get("operation") in (None, operation_of(case)["operationId"])
            and len(response.request.url) >= allowed.get("url_bytes", 0)
        ):
            return allowed["because"]
    return None
