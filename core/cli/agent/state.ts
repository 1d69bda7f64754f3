import { hash } from "node:crypto";
import {
  filesDigest,
  POLICY_ROOT,
  policyVersionOf,
  type StateFrame,
} from "../../protocol/protocol.ts";
import { canonicalJson } from "../../codec/codec.ts";
import type { Cancel, Clock } from "../../ports/ports.ts";
import { type Configuration, readConfiguration } from "./backup/configuration.ts";
import { POLICY_FILE } from "./policies.ts";
import type { AgentFiles } from "./interfaces.ts";

/** The interval of checking the policy file: a change by hand is reported well within 5 s. */
const LOOK_MS = 2_000;
const POLICIES_TOLD = 64;

/** The results of signature checks on a link. */
export interface VerdictCounts {
  verified: number;
  refused: number;
  last_refusal: string | null;
}

/** Reports this agent's state to the relay. */
export interface StateReporter {
  /** Answers `inspect`, and from then on reports each change of the policy file. */
  answer(serial: number, send: (frame: StateFrame) => void): void;
  /** Stops reporting, because the link is lost. */
  detach(): void;
}

/** Opens the report of an agent's state. */
export function openState(
  configuration: Configuration,
  files: Pick<AgentFiles, "read">,
  clock: Clock,
  counts: () => VerdictCounts,
): StateReporter {
  const path = `${configuration.stateDir}/${POLICY_FILE}`;
  let reported: string | null = null;
  let cancel: Cancel | null = null;

  function policyText(): string | null {
    try {
      return files.read(path);
    } catch {
      return null;
    }
  }

  function report(serial: number, send: (frame: StateFrame) => void) {
    reported = policyText();
    send({
      type: "state",
      serial,
      ...readPolicies(reported),
      ...readFiles(configuration),
      roots: [...configuration.roots],
      verdicts: { ...counts() },
    });
  }

  function look(send: (frame: StateFrame) => void) {
    cancel = clock.after(LOOK_MS, () => {
      if (policyText() !== reported) report(0, send);
      look(send);
    });
  }

  return {
    answer(serial, send) {
      report(serial, send);
      if (cancel === null) look(send);
    },
    detach() {
      cancel?.();
      cancel = null;
    },
  };
}

function readPolicies(text: string | null): Pick<StateFrame, "policy_version" | "policies"> {
  try {
    const read: unknown = JSON.parse(text ?? "");
    if (!Array.isArray(read)) return { policy_version: null, policies: [] };
    const policies = read.slice(0, POLICIES_TOLD).map((document: unknown, at) => ({
      name: nameOf(document) ?? `#${at + 1}`,
      sha256: hash("sha256", canonicalJson(document)),
    }));
    return { policy_version: policyVersionOf(read), policies };
  } catch {
    return { policy_version: null, policies: [] };
  }
}

function nameOf(document: unknown): string | null {
  if (typeof document !== "object" || document === null || !("name" in document)) return null;
  const { name } = document;
  return typeof name === "string" && name.length <= 128 && name.isWellFormed() ? name : null;
}

function readFiles(configuration: Configuration): Pick<StateFrame, "files" | "problem"> {
  if (configuration.roots.length === 0) return { files: null, problem: null };
  try {
    const { head: { entries } } = readConfiguration(configuration);
    const listed = entries.filter(({ root }) => root !== POLICY_ROOT);
    const bytes = listed.reduce((sum, entry) => sum + entry.bytes, 0);
    const files = { count: listed.length, bytes, sha256: filesDigest(entries) };
    return { files, problem: null };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { files: null, problem: problem.slice(0, 500).toWellFormed() };
  }
}
