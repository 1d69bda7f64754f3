import { type Client, expectStatus } from "../clients/status_client.ts";
import { openFakeHost } from "../policies/fake_host.ts";
import { forbidding } from "../policies/git_fixtures.ts";
import type { Job } from "./work.ts";

interface Applied {
  readonly plan: readonly { readonly action: string }[];
}

/** A Git host on loopback, and an organization that plans and applies what it holds. */
export async function policyJob(client: Client): Promise<Job & AsyncDisposable> {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const { method, url } = request;
      await request.body?.cancel();
      const reply = host.reply({
        organization: null,
        method,
        url,
        headers: {},
        deadlineMs: 0,
        keepBytes: 0,
      });
      if (typeof reply === "number") return new Response(null, { status: reply });
      if (reply instanceof Error) throw reply;
      return new Response(reply.bytes ?? null, {
        status: reply.status,
        headers: reply.headers ?? {},
      });
    },
  );
  const host = await openFakeHost(`http://127.0.0.1:${server.addr.port}/policies.git`);
  let version = 0;
  const commit = () =>
    host.commit({ "policies/one.yaml": forbidding("nc", `description: version ${++version}\n`) });
  await commit();
  const repository = { name: "policies", provider: "generic", url: host.url };
  expectStatus(await client("POST", "/api/v1/gitops/repos", repository), 201, "a repository");

  async function apply(more: object): Promise<Applied> {
    const body = { repo_url: host.url, branch: "main", policy_path: "policies", ...more };
    return expectStatus(await client<Applied>("POST", "/api/v1/gitops/apply", body), 200, "apply");
  }

  return {
    name: "policies",
    everyMs: 15_000,
    async act() {
      const head = await commit();
      const planned = await apply({ dry_run: true, replay: 50 });
      const applied = await apply({ commit: head });
      const [before, after] = [planned, applied].map(({ plan }) =>
        plan.map(({ action }) => action)
      );
      if (`${before}` !== `${after}`) throw new Error(`planned ${before}, applied ${after}`);
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
