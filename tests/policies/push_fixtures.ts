import { createHmac } from "node:crypto";
import type { GitProvider } from "../../kv/records/gitops.ts";
import type { GitWorld } from "./git_fixtures.ts";
import type { World } from "../support/world.ts";

export const HOOK = "/api/v1/gitops/webhook";
export const SECRET = "a secret of the hook";
export const WHSEC = `whsec_${btoa("thirty-two bytes of a secret key")}`;
export const AFTER = "0f5e1c0d9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d";

/** What each host sends of a push, as far as it is looked at, with what stands around it. */
export const BODIES = {
  github: {
    ref: "refs/heads/main",
    before: "6113728f27ae82c7b1a177c8d03f9e96e0adf246",
    after: AFTER,
    repository: {
      id: 186853002,
      full_name: "acme/policies",
      html_url: "https://git.example.com/acme/policies",
      clone_url: "https://git.example.com/acme/policies.git",
      ssh_url: "git@git.example.com:acme/policies.git",
      owner: { name: "acme" },
    },
    pusher: { name: "a" },
    commits: [{ id: AFTER, message: "a change", added: [], modified: ["policies/a.yaml"] }],
  },
  gitlab: {
    object_kind: "push",
    event_name: "push",
    ref: "refs/heads/main",
    after: AFTER,
    checkout_sha: AFTER,
    project: {
      id: 15,
      web_url: "https://git.example.com/acme/policies",
      git_http_url: "https://git.example.com/acme/policies.git",
      path_with_namespace: "acme/policies",
    },
    repository: { name: "policies", git_http_url: "https://git.example.com/acme/policies.git" },
  },
  gitea: {
    ref: "refs/heads/main",
    after: AFTER,
    repository: {
      id: 1,
      full_name: "acme/policies",
      clone_url: "https://git.example.com/acme/policies.git",
    },
    pusher: { login: "a" },
  },
};

export type Headers = Record<string, string>;
export const hex = (text: string) => createHmac("sha256", SECRET).update(text).digest("hex");

/** How each host names and signs it. */
export const SENDERS: readonly {
  name: string;
  provider: GitProvider;
  secret?: string;
  body: unknown;
  headers(text: string, delivery: string, nowMs: number): Headers;
  /** Headers whose bytes are all under the proof. */
  proof: readonly string[];
}[] = [
  {
    name: "GitHub",
    provider: "github",
    body: BODIES.github,
    headers: (text, delivery) => ({
      "x-github-event": "push",
      "x-github-delivery": delivery,
      "x-hub-signature-256": `sha256=${hex(text)}`,
    }),
    proof: ["x-hub-signature-256"],
  },
  {
    name: "GitLab with a token",
    provider: "gitlab",
    body: BODIES.gitlab,
    headers: (_, delivery) => ({
      "x-gitlab-event": "Push Hook",
      "x-gitlab-event-uuid": delivery,
      "x-gitlab-token": SECRET,
    }),
    proof: ["x-gitlab-token"],
  },
  {
    name: "GitLab with a signature",
    provider: "gitlab",
    secret: WHSEC,
    body: BODIES.gitlab,
    headers(text, delivery, nowMs) {
      const at = String(Math.floor(nowMs / 1000));
      const mac = createHmac("sha256", "thirty-two bytes of a secret key");
      const signature = mac.update(`${delivery}.${at}.${text}`).digest("base64");
      return {
        "x-gitlab-event": "Push Hook",
        "webhook-id": delivery,
        "webhook-timestamp": at,
        "webhook-signature": `v1,${btoa("another key, that was changed")} v1,${signature}`,
      };
    },
    proof: ["webhook-id", "webhook-timestamp"],
  },
  {
    name: "Gitea",
    provider: "gitea",
    body: BODIES.gitea,
    headers: (text, delivery) => ({
      "x-gitea-event": "push",
      "x-gitea-delivery": delivery,
      "x-gitea-signature": hex(text),
    }),
    proof: ["x-gitea-signature"],
  },
];

/** Sends a push and tells how often the host was asked because of it. */
export async function push(world: World, git: GitWorld, body: string, headers: Headers) {
  const before = git.host.asked;
  const all = { "content-type": "application/json", ...headers };
  const answer = await world.call("POST", HOOK, { body, headers: all });
  await world.settle();
  return { answer, asked: git.host.asked - before };
}
