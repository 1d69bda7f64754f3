import { hash } from "node:crypto";
import { Buffer } from "node:buffer";
import {
  compress,
  decompress,
  packArchive,
  PIECE_BYTES,
  publicKeyOf,
  type TransferData,
  type TransferFrame,
  type TransferOrder,
  type TransferReply,
  transferText,
  unpackArchive,
  verifiesText,
  type WelcomeFrame,
} from "../../../protocol/protocol.ts";
import type { Log } from "../../../ports/ports.ts";
import { type Configuration, readConfiguration } from "./configuration.ts";
import { planRestore, restoreArchive } from "./restore.ts";

/** The link of a transfer. */
export interface TransferLink {
  readonly welcome: WelcomeFrame;
  readonly nonce: string;
  send(frame: TransferReply): void;
}

/** The agent's end of backups and restores; one of each at a time, in memory until complete. */
export interface AgentTransfers {
  /** Carries out an order. Returns why the link must end, or null. */
  take(order: TransferOrder, link: TransferLink): string | null;
  /** Drops incomplete transfers, because the link is lost. */
  detach(): void;
}

interface Incoming {
  readonly order: TransferFrame;
  readonly link: TransferLink;
  readonly bytes: Uint8Array<ArrayBuffer>;
  at: number;
}

/** Opens the agent's end of backups and restores. */
export function openTransfers(configuration: Configuration, log: Log): AgentTransfers {
  /** The nonce of the current link. */
  let nonce = "";
  let last = 0;
  let outgoing: { readonly jobId: string; readonly bytes: Uint8Array } | null = null;
  let incoming: Incoming | null = null;

  function begin(order: TransferFrame, link: TransferLink): string | null {
    if (link.nonce !== nonce) {
      nonce = link.nonce;
      last = 0;
    }
    const { welcome } = link;
    const key = publicKeyOf(welcome.verdict_key);
    const text = transferText({ agentId: welcome.agent_id, nonce }, order);
    if (key === null || !verifiesText(key, text, order.signature)) {
      return "it is not signed by the relay for this agent and this link";
    }
    if (order.serial <= last) return "it was ordered before";
    last = order.serial;
    if (order.kind === "backup") {
      attempt(order, link, () => send(order, link));
    } else if (order.sha256 === null) {
      return "a restore needs its digest";
    } else {
      const bytes = new Uint8Array(order.stored_bytes);
      incoming = { order, link, bytes, at: 0 };
      log.info(`receiving a configuration from the relay (${order.kind}, ${bytes.length} bytes)`);
      ask(incoming);
    }
    return null;
  }

  /** Reports a failure to the relay. It ends only this transfer. */
  function attempt({ job_id, kind }: TransferFrame, link: TransferLink, task: () => Promise<void>) {
    task().catch((error) => {
      const message = (error instanceof Error ? error.message : String(error)).slice(0, 500);
      log.error(`a ${kind} failed: ${message}`);
      link.send({ type: "transfer_failed", job_id, message: message.toWellFormed() });
    });
  }

  async function send({ job_id }: TransferFrame, link: TransferLink) {
    const archive = packArchive(readConfiguration(configuration));
    const bytes = await compress(archive);
    if (link.nonce !== nonce) return; // the link was lost meanwhile
    outgoing = { jobId: job_id, bytes };
    log.info(`sending its configuration to the relay (${archive.length} bytes)`);
    link.send({
      type: "transfer_ready",
      job_id,
      bytes: archive.length,
      sha256: hash("sha256", archive),
      stored_bytes: bytes.length,
    });
  }

  function ask({ order, link, at }: Incoming) {
    link.send({ type: "transfer_want", job_id: order.job_id, offset: at });
  }

  function receive({ job_id, offset, data }: TransferData) {
    if (incoming === null || incoming.order.job_id !== job_id || incoming.at !== offset) return;
    const piece = Buffer.from(data, "base64");
    const { order, link, bytes } = incoming;
    if (piece.length === 0 || offset + piece.length > bytes.length) {
      incoming = null;
      return attempt(order, link, () => Promise.reject(new Error("a piece does not fit")));
    }
    bytes.set(piece, offset);
    incoming.at += piece.length;
    if (incoming.at < bytes.length) return ask(incoming);
    incoming = null;
    attempt(order, link, () => put(order, link, bytes));
  }

  async function put(
    { job_id, kind, sha256 }: TransferFrame,
    link: TransferLink,
    bytes: Uint8Array,
  ) {
    const archive = await decompress(bytes);
    if (hash("sha256", archive) !== sha256) {
      throw new Error("the archive does not match its digest");
    }
    const plan = kind === "restore"
      ? restoreArchive(configuration, archive)
      : planRestore(configuration, unpackArchive(archive)).plan;
    if (kind === "restore") log.info(`restored the configuration ${sha256.slice(0, 16)}`);
    const now = hash("sha256", packArchive(readConfiguration(configuration)));
    link.send({ type: "transfer_done", job_id, sha256: now, plan });
  }

  return {
    take(order, link) {
      switch (order.type) {
        case "transfer":
          return begin(order, link);
        case "transfer_data":
          receive(order);
          return null;
        case "transfer_end":
          if (outgoing?.jobId === order.job_id) outgoing = null;
          return null;
        case "transfer_want": {
          if (outgoing === null || outgoing.jobId !== order.job_id) return null;
          const { job_id, offset } = order;
          const piece = outgoing.bytes.subarray(offset, offset + PIECE_BYTES);
          const data = Buffer.from(piece).toString("base64");
          link.send({ type: "transfer_data", job_id, offset, data });
          return null;
        }
      }
    },
    detach() {
      nonce = "";
      outgoing = incoming = null;
    },
  };
}
