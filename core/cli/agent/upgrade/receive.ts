import { Buffer } from "node:buffer";
import { createHash, type Hash } from "node:crypto";
import {
  ANY_PLATFORM,
  isOlder,
  type ProgramFacts,
  publicKeyOf,
  type TransferData,
  type TransferReply,
  type UpgradeFrame,
  upgradeText,
  verifiesText,
  type WelcomeFrame,
} from "../../../protocol/protocol.ts";
import type { Log } from "../../../ports/ports.ts";
import type { AgentHost, NewFile } from "../interfaces.ts";
import {
  dropProgram,
  programPath,
  type ProgramStore,
  readMarker,
  type StoredProgram,
  writeMarker,
} from "./marker.ts";

/** The link of an upgrade. */
export interface UpgradeLink {
  readonly welcome: WelcomeFrame;
  readonly nonce: string;
  /** The relay's time, in ms. */
  readonly relayNow: () => number;
  send(frame: TransferReply): void;
}

/** The agent's end of upgrades: one at a time, written to a file as it comes. */
export interface AgentUpgrades {
  /** What `hello` tells about the program. */
  facts(): ProgramFacts;
  /** Carries out an order. Returns why the link must end, or null. */
  begin(order: UpgradeFrame, link: UpgradeLink): string | null;
  /** Takes a piece of the program; false when it belongs to something else. */
  receive(piece: TransferData): boolean;
  /** The relay has welcomed this program: it runs from now on. */
  confirm(): void;
  /** This program has linked or found that it cannot: it starts well, whatever the network does. */
  attempted(): void;
  /** Drops an incomplete program, because the link is lost. */
  detach(): void;
}

/** What upgrades use of an agent. */
export interface UpgradeParts extends ProgramStore {
  readonly log: Log;
  readonly machine: AgentHost["machine"];
  /** The upgrade that brought this program; null for the installed one. */
  readonly jobId: string | null;
  /** Ends this program, so that its supervisor starts the new one. */
  readonly switchOver: () => void;
}

interface Incoming {
  readonly order: UpgradeFrame;
  readonly link: UpgradeLink;
  readonly file: NewFile;
  readonly hash: Hash;
  at: number;
}

/** Opens the agent's end of upgrades. */
export function openUpgrades(parts: UpgradeParts): AgentUpgrades {
  const { stateDir, tree, log, machine, jobId } = parts;
  const fresh = `${stateDir}/program.new`;
  /** The nonce of the current link. */
  let nonce = "";
  let last = 0;
  let hasAttempted = false;
  let incoming: Incoming | null = null;

  /** Why this agent cannot take the program; null when it can. */
  function obstacle({ version, platform }: UpgradeFrame): string | null {
    if (machine.form === "source") {
      return "this agent is installed from source: update its checkout and restart it there";
    }
    if (machine.form === "executable" && platform === ANY_PLATFORM) {
      return "this agent is a compiled executable, which cannot run a bundle: provide the " +
        `executable for ${machine.platform}`;
    }
    const own = machine.form === "bundle" ? ANY_PLATFORM : machine.platform;
    if (platform !== own) return `the program is for ${platform}, and this agent needs ${own}`;
    // An earlier version may have a hole that a later one closed.
    if (!isOlder(machine.version, version)) {
      return `this agent has version ${machine.version}, and ${version} is not newer`;
    }
    return null;
  }

  /** Reports a failure to the relay; nothing has changed. */
  function fail(order: UpgradeFrame, link: UpgradeLink, why: string) {
    drop();
    log.error(`an upgrade to version ${order.version} failed: ${why}`);
    const message = why.slice(0, 500).toWellFormed();
    link.send({ type: "transfer_failed", job_id: order.job_id, message });
  }

  function attempt(order: UpgradeFrame, link: UpgradeLink, task: () => void) {
    try {
      task();
    } catch (error) {
      fail(order, link, error instanceof Error ? error.message : String(error));
    }
  }

  function ask({ order, link, at }: Incoming) {
    link.send({ type: "transfer_want", job_id: order.job_id, offset: at });
  }

  function drop() {
    if (incoming === null) return;
    const { file } = incoming;
    incoming = null;
    try {
      file.close();
      clear();
    } catch (error) {
      log.error(`an incomplete program cannot be removed: ${error}`);
    }
  }

  function clear() {
    if (tree.look(fresh) !== null) tree.remove(fresh);
  }

  function take({ order, link, file, hash }: Incoming) {
    incoming = null;
    file.close();
    if (hash.digest("hex") !== order.sha256) {
      clear();
      throw new Error("it does not match its digest");
    }
    const { job_id, version, sha256 } = order;
    const form = machine.form === "bundle" ? "bundle" : "executable";
    const program: StoredProgram = { job_id, version, sha256, form };
    tree.rename(fresh, programPath(parts, program));
    const { trusted } = readMarker(parts);
    try {
      writeMarker(parts, { trusted, candidate: { ...program, started: false }, failed: null });
    } catch (error) {
      dropProgram(parts, program);
      throw error;
    }
    log.info(`received version ${version} (${sha256.slice(0, 16)}), and starts it`);
    link.send({ type: "upgrade_ready", job_id });
    parts.switchOver();
  }

  function attempted() {
    if (hasAttempted) return;
    hasAttempted = true;
    const marker = readMarker(parts);
    const { trusted } = marker;
    if (trusted === null || trusted.job_id !== jobId) return;
    try {
      writeMarker(parts, { ...marker, trusted: { ...trusted, ran: true } });
    } catch (error) {
      log.error(`the start of the program cannot be stored: ${error}`);
    }
  }

  return {
    facts() {
      const { failed } = readMarker(parts);
      return {
        form: machine.form,
        ...(jobId !== null && { upgrade: jobId }),
        ...(failed !== null && { failed }),
      };
    },
    begin(order, link) {
      if (link.nonce !== nonce) {
        nonce = link.nonce;
        last = 0;
      }
      const { welcome } = link;
      const key = publicKeyOf(welcome.verdict_key);
      const text = upgradeText({ agentId: welcome.agent_id, nonce }, order);
      if (key === null || !verifiesText(key, text, order.signature)) {
        return "it is not signed by the relay for this agent and this link";
      }
      if (order.serial <= last) return "it was ordered before";
      last = order.serial;
      if (link.relayNow() >= order.expires_at_ms) return "it has expired";
      attempt(order, link, () => {
        const why = obstacle(order);
        if (why !== null) throw new Error(why);
        drop();
        // A kill may have left one.
        clear();
        const file = tree.create(fresh, 0o700);
        incoming = { order, link, file, hash: createHash("sha256"), at: 0 };
        log.info(`receiving version ${order.version} from the relay (${order.bytes} bytes)`);
        ask(incoming);
      });
      return null;
    },
    receive({ job_id, offset, data }) {
      if (incoming?.order.job_id !== job_id) return false;
      if (incoming.at !== offset) return true;
      const { order, link, file, hash } = incoming;
      attempt(order, link, () => {
        const piece = Buffer.from(data, "base64");
        const end = offset + piece.length;
        if (piece.length === 0 || end > order.bytes) throw new Error("a piece does not fit");
        file.append(piece);
        hash.update(piece);
        incoming!.at = end;
        if (end < order.bytes) ask(incoming!);
        else take(incoming!);
      });
      return true;
    },
    confirm() {
      attempted();
      const { trusted, candidate } = readMarker(parts);
      if (candidate === null || candidate.job_id !== jobId) return;
      const { started: _, ...program } = candidate;
      try {
        writeMarker(parts, {
          trusted: { ...program, ran: true },
          candidate: null,
          failed: null,
        });
        dropProgram(parts, trusted);
      } catch (error) {
        log.error(`the new program cannot be confirmed: ${error}`);
      }
    },
    attempted,
    detach: drop,
  };
}
