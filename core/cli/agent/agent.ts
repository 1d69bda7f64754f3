import { Buffer } from "node:buffer";
import type { CloseName, WelcomeFrame } from "../../protocol/protocol.ts";
import { backoffMs } from "./link/backoff.ts";
import { openCommands } from "./commands/commands.ts";
import { type Configuration, refuseRoots } from "./backup/configuration.ts";
import { describeAgent, writeHello } from "./link/hello.ts";
import { loadIdentity } from "./identity.ts";
import { openJournal } from "./commands/journal.ts";
import { type Link, type LinkEnd, openLink, type Order, type Welcomed } from "./link/link.ts";
import { openOutbox } from "./outbox.ts";
import { openOrders, type Session } from "./orders.ts";
import { remembering, witnessedSize } from "./witness.ts";
import { pinnedVerdictKey, pinVerdictKey } from "./link/pin.ts";
import type { AgentHost, AgentOptions, AgentSocket } from "./interfaces.ts";
import { openPolicies } from "./policies.ts";
import { openRefusals } from "./commands/refusals.ts";
import { recoverRestore } from "./backup/restore.ts";
import { openState, type VerdictCounts } from "./state.ts";
import { openTransfers } from "./backup/transfers.ts";
import { openUpgrades } from "./upgrade/receive.ts";
import { openVerdicts } from "./link/verdicts.ts";

/** The exit code of an agent that the relay restarts. */
export const RESTART_EXIT_CODE = 75;

/** The exit code of an agent that has received another program, which its supervisor starts. */
export const UPGRADE_EXIT_CODE = 76;

/** The time that commands get to end after a `restart` or an upgrade. */
const RESTART_GRACE_MS = 10_000;
/** A link that lasted this long resets the backoff. */
const STEADY_MS = 5_000;
const NONCE_BYTES = 18;

/**
 * Runs the agent until it ends. Resolves to its exit code: 0 when `signal` was aborted, 1 when the relay refuses it
 * for good, 75 when the relay restarts it, 76 when it has received another program. Throws when the state directory
 * cannot be used or an option does not fit the protocol.
 */
export async function runAgent(options: AgentOptions, host: AgentHost): Promise<number> {
  const { stateDir } = options;
  const described = describeAgent(options, host);
  if ("failure" in described) throw new Error(described.failure);
  const facts = described;
  host.files.makeDir(stateDir);
  const identity = await loadIdentity(stateDir, host.files);
  const journal = openJournal(stateDir, host.files);
  const refusals = openRefusals(stateDir, host);
  const policies = openPolicies(stateDir, host.files);
  const configuration: Configuration = {
    tree: host.tree,
    stateDir,
    roots: options.backup ?? [],
    settings: { name: facts.name, labels: facts.labels },
  };
  const unusable = refuseRoots(configuration);
  if (unusable !== null) throw new Error(unusable);
  if (recoverRestore(configuration) === "completed") {
    host.log.info("completed the restore that was interrupted");
  }
  const transfers = openTransfers(configuration, host.log);
  const upgrades = openUpgrades({
    stateDir,
    tree: host.tree,
    log: host.log,
    machine: host.machine,
    jobId: options.upgrade ?? null,
    switchOver: () => void finish(UPGRADE_EXIT_CODE, RESTART_GRACE_MS, "upgrading"),
  });
  const counts: VerdictCounts = { verified: 0, refused: 0, last_refusal: null };
  const state = openState(configuration, host.files, host.clock, () => counts);
  const outbox = openOutbox(host.clock, identity.sign);
  const commands = openCommands(host, journal, outbox);
  const witnessFiles = remembering(host.files, (error) => {
    host.log.error(`the checkpoint cannot be stored: ${error}`);
  });
  const obey = openOrders({
    stateDir,
    log: host.log,
    commands,
    outbox,
    policies,
    refusals,
    state,
    transfers,
    upgrades,
    sign: identity.sign,
    witnessFiles,
    counts,
    restart: () => void finish(RESTART_EXIT_CODE, RESTART_GRACE_MS, "restarting"),
  });
  const { promise: exited, resolve: exit } = Promise.withResolvers<number>();
  let ending = false;
  let link: Link | undefined;
  let nonce = "";
  let session: Session | null = null;
  let wake: (() => void) | undefined;

  async function finish(code: number, graceMs: number, reason: string) {
    ending = true;
    wake?.();
    await commands.stop(graceMs);
    outbox.flush();
    await link?.leave(reason);
    exit(code);
  }

  function hello(challenge: string): string {
    nonce = Buffer.from(host.entropy.bytes(NONCE_BYTES)).toString("base64url");
    return writeHello(identity, {
      facts,
      challenge,
      nonce,
      commandIds: [...commands.running(), ...outbox.unsettled()],
      policyVersion: policies.version(),
      witnessed: witnessedSize(stateDir, witnessFiles),
      program: upgrades.facts(),
      pinnedKey: pinnedVerdictKey(stateDir, host.files),
    });
  }

  function welcomed(frame: WelcomeFrame, socket: AgentSocket): Welcomed {
    const verdicts = openVerdicts(frame, nonce, host.clock);
    if (verdicts === null) return "unproven";
    const pinned = pinVerdictKey(stateDir, frame, host.files);
    if (pinned === null) return "another_key";
    if (pinned === "followed") {
      host.log.info("the relay has a new verdict key, to which the pinned key handed over");
    } else if (pinned === "replaced") {
      host.log.warn("the relay has another verdict key than before this machine was paired again");
    } else if (pinned === "unwritten") {
      host.log.error(
        "the relay's new verdict key cannot be stored: the agent follows it again at the next link",
      );
    }
    host.log.info(`connected to ${options.url} as ${frame.name} (${frame.agent_id})`);
    session = { welcome: frame, nonce, verdicts, socket };
    outbox.attach(socket, frame.agent_id);
    upgrades.confirm();
    return "accepted";
  }

  const ordered = (order: Order): CloseName | null =>
    session === null ? "unexpected_frame" : obey(order, session);

  async function keepLinked() {
    let failures = 0;
    let lastWhy = "";
    while (!ending) {
      const { health } = commands;
      link = openLink(host, options, { hello, welcomed, ordered, heard: outbox.heard, health });
      const end: LinkEnd = await link.ended;
      upgrades.attempted();
      outbox.detach();
      transfers.detach();
      upgrades.detach();
      state.detach();
      if (ending) return;
      if (end.kind === "refused") {
        host.log.error(end.why);
        return finish(1, 0, "refused");
      }
      // Log one line while the relay is unreachable, not one for each attempt.
      if (end.upMs > 0 || end.why !== lastWhy) {
        host.log.warn(`no link to ${options.url}: ${end.why}; reconnecting`);
      }
      lastWhy = end.why;
      if (end.upMs >= STEADY_MS) failures = 0;
      await pause(backoffMs(failures++, host.entropy.unit()));
    }
  }

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = host.clock.after(ms, resolve);
      wake = () => {
        cancel();
        resolve();
      };
    });
  }

  const stop = () => void finish(0, 0, "stopping");
  options.signal?.addEventListener("abort", stop, { once: true });
  if (options.signal?.aborted) stop();
  await keepLinked();
  const code = await exited;
  options.signal?.removeEventListener("abort", stop);
  journal.close();
  return code;
}
