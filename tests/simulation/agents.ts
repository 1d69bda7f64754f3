import type { KeyObject } from "node:crypto";
import type { Wire } from "../../core/agents/links/sender.ts";
import { privateKeyOf } from "../../core/protocol/statements.ts";
import { ScriptedAgent } from "../support/agent.ts";
import type { Random } from "../support/random.ts";
import type { World } from "../support/world.ts";
import type { Cluster, Instance } from "./cluster.ts";
import type { Witness } from "./witness.ts";

/** An agent that links anew at any instance. It counts the commands that reached it over all of its links. */
export class RovingAgent {
  readonly identity: KeyObject;
  /** How often each command reached it. */
  readonly reached = new Map<string, number>();
  at: Instance | null = null;
  link: ScriptedAgent | null = null;
  /** Unanswered commands of the current link. */
  #open: string[] = [];
  id = "";

  constructor(
    private readonly cluster: Cluster,
    readonly name: string,
    private readonly credential: string,
    private readonly dice: Random,
    private readonly witness: Witness,
  ) {
    this.identity = privateKeyOf(Uint8Array.from({ length: 32 }, () => dice.below(256)));
  }

  get isLinked(): boolean {
    return this.link !== null && this.link.closed === null && this.at?.state !== "dead";
  }

  /** Links at an instance; an older link stays open until its instance closes it. */
  async connect(at: Instance): Promise<void> {
    const { credential, identity, name } = this;
    const link = await ScriptedAgent.open(this.#worldOf(at), credential, {
      identity,
      name,
      take: (frame, own) => {
        if (frame.type === "welcome") this.id = frame.agent_id;
        if (frame.type !== "run") return;
        for (const { command_id } of frame.commands) {
          this.witness.arrives(command_id, at);
          this.reached.set(command_id, (this.reached.get(command_id) ?? 0) + 1);
          if (own === this.link) this.#open.push(command_id);
        }
      },
    });
    link.script = () => "silent";
    this.#open = [];
    [this.link, this.at] = [link, at];
  }

  /** Answers what is open, or leaves some of it for later. */
  work(all = false): void {
    const { link } = this;
    if (link === null || !this.isLinked) return;
    const ended = this.#open.filter(() => all || this.dice.chance(0.6));
    this.#open = this.#open.filter((id) => !ended.includes(id));
    for (const command_id of ended) link.finish({ command_id, stdout: "done\n" });
  }

  /** Shows that it lives. */
  beat(): void {
    if (this.isLinked && this.id !== "") this.link?.send({ type: "heartbeat", status: "ok" });
  }

  /** Breaks the link. The agent is gone with its machine. */
  drop(): void {
    if (this.isLinked) this.link?.drop();
    [this.link, this.at] = [null, null];
  }

  /** A world whose links hear nothing while their process is frozen, and never again after its death. */
  #worldOf(at: Instance): World {
    const { calls } = this.cluster, { app } = at.world;
    const links: Pick<typeof app.links, "open"> = {
      open(actor, info, wire: Wire) {
        const link = app.links.open(actor, info, wire);
        return {
          receive: (text: string) => calls.whenAwake(at, () => link.receive(text)),
          closed: (why: never) => calls.whenAwake(at, () => link.closed(why)),
        } as unknown as ReturnType<typeof app.links.open>;
      },
    };
    const seen = Object.create(app, { links: { value: links } });
    return { app: seen, clock: at.clock } as unknown as World;
  }
}
