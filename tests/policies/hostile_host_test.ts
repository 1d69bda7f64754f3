import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { answerOf, packfileOf } from "../../core/policies/git/packets.ts";
import type { Reply } from "../support/network.ts";
import { World } from "../support/world.ts";
import { forbidding, type GitWorld, withRepository } from "./git_fixtures.ts";
import { byHash, byPlace, copyAnd, hashOf, pack, steps } from "./packs.ts";

/** Replaces the host's answer for addresses with this ending. */
function twist(world: World, { host }: GitWorld, end: string, make: (bytes: Buffer) => Buffer) {
  world.network.reply = (request) => {
    const answer = host.reply(request) as Exclude<Reply, number | Error> & { bytes: Uint8Array };
    if (!request.url.endsWith(end)) return answer;
    return { ...answer, bytes: new Uint8Array(make(Buffer.from(answer.bytes))) };
  };
}

const PACK = "/git-upload-pack";
const REFS = "service=git-upload-pack";

async function opened(world: World): Promise<GitWorld> {
  const git = await withRepository(world);
  await git.host.commit({ "policies/a.yaml": forbidding("nmap") });
  return git;
}

Deno.test("fetch: refuses a delta on itself at once, by offset or by hash", async () => {
  await using world = await World.open();
  const git = await opened(world);
  twist(
    world,
    git,
    PACK,
    () => Buffer.concat([...answerOf(pack([byPlace(0, steps(1, 1, 1, 65))]))]),
  );
  eq((await git.apply()).status, 503);
  const text = forbidding("nmap"), bytes = text.length;
  const itself = byHash(hashOf(text), steps(bytes, bytes, ...copyAnd(bytes, "")));
  twist(world, git, PACK, (answer) => {
    const sound = Buffer.from(packfileOf(answer));
    const objects = [sound.subarray(12, -20), itself];
    return Buffer.concat([...answerOf(pack(objects, sound.readUInt32BE(8) + 1))]);
  });
  eq((await git.apply()).status, 200);
});

Deno.test("fetch: ignores progress messages, and refuses too many of them", async () => {
  await using world = await World.open();
  const git = await opened(world);
  const before = (text: string, times: number) => (bytes: Buffer) =>
    Buffer.concat([Buffer.from(text.repeat(times)), bytes]);
  const shallow = `0034shallow ${"1".repeat(40)}`;
  const talk = ["0005\x02", "0005\x01", "0009\x02told", "0000", "0004", shallow];
  for (const text of talk) {
    twist(world, git, PACK, before(text, 1_000));
    eq((await git.apply()).status, 200, text);
    twist(world, git, PACK, before(text, 200_000));
    const answer = await git.apply();
    deq([answer.status, answer.body.error?.details.git], [400, "too_large"], text);
  }
});

Deno.test("fetch: refuses a list of branches with too many packets", async () => {
  await using world = await World.open();
  const git = await opened(world);
  for (const text of ["0000", "0004"]) {
    twist(world, git, REFS, (bytes) => Buffer.concat([bytes, Buffer.from(text.repeat(200_000))]));
    const answer = await git.apply();
    deq([answer.status, answer.body.error?.details.git], [400, "too_large"], text);
  }
});

Deno.test("fetch: fetches a branch even if the host's default branch does not exist", async () => {
  await using world = await World.open();
  const git = await opened(world);
  twist(world, git, REFS, (bytes) => {
    const [, oid] = /([0-9a-f]{40}) refs/.exec(bytes.toString("latin1"))!;
    const ref = `${oid} refs/heads/main\0shallow side-band-64k ofs-delta\n`;
    const length = (ref.length + 4).toString(16).padStart(4, "0");
    return Buffer.from(`001e# service=git-upload-pack\n0000${length}${ref}0000`);
  });
  eq((await git.apply()).body.changed, true);
});

Deno.test("fetch: refuses a repository with SHA-256 object names, and says so", async () => {
  await using world = await World.open();
  const git = await opened(world);
  const able = "shallow object-format=sha256";
  twist(
    world,
    git,
    REFS,
    (bytes) => Buffer.from(bytes.toString("latin1").replace("side-band-64k ofs-delta", able)),
  );
  const { status, body: { error } } = await git.apply();
  deq([status, error.details.git], [400, "unsupported"], error.message);
});

Deno.test("fetch: reports a host that answers with an error midway", async () => {
  await using world = await World.open();
  const git = await opened(world);
  const answers = [
    "0008NAK\n0009\x03gone",
    "0030ERR upload-pack: not our ref 1234567890",
    "0008NAK\n0000",
  ];
  for (const text of answers) {
    twist(world, git, PACK, () => Buffer.from(text));
    const answer = await git.apply();
    deq([answer.status, answer.body.error?.details.git], [503, "host"], text);
  }
});
