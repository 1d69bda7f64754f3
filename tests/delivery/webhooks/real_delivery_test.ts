import assert from "node:assert/strict";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { clientOf, expectStatus } from "../../clients/status_client.ts";
import { signUpOwner, startRelayProcess, withFolder } from "../../support/processes.ts";

/** 24 bytes in base64, the form of a secret that both packages accept. */
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

Deno.test("delivery: svix and standardwebhooks verify what a relay sends over the network", async () => {
  const arrived = Promise.withResolvers<{ headers: Record<string, string>; body: string }>();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      arrived.resolve({
        headers: Object.fromEntries(request.headers),
        body: await request.text(),
      });
      return new Response(null, { status: 204 });
    },
  );
  await withFolder(async (folder) => {
    const { relay, url } = await startRelayProcess({
      RELAY_KV: `${folder}/relay.kv`,
      RELAY_CONFIG: JSON.stringify({ outbound: { allow_private_targets: true } }),
    });
    try {
      const owner = clientOf(url, await signUpOwner(clientOf(url)));
      const made = await owner<{ id: string }>("POST", "/api/v1/webhooks", {
        name: "real",
        url: `http://127.0.0.1:${server.addr.port}/`,
        secret: SECRET,
        events: ["command_denied"],
      });
      const { id } = expectStatus(made, 201, "making a webhook");
      const sent = await owner("POST", `/api/v1/webhooks/${id}/test`);
      assert.ok(sent.status < 300, `the test was answered with ${sent.status}`);
      const { headers, body } = await arrived.promise;
      for (const webhook of [new StandardWebhook(SECRET), new SvixWebhook(SECRET)]) {
        webhook.verify(body, headers);
        assert.throws(() => webhook.verify(body.replace("ping", "pong"), headers));
      }
    } finally {
      await relay.stop();
      await server.shutdown();
    }
  });
});
