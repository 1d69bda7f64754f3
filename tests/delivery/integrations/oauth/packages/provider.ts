import { createServer } from "node:http";
import Provider from "oidc-provider";

/**
 * A certified OpenID provider on loopback. It prints its address, and takes what a test cannot wait for at
 * `/test/clock`: so many seconds by which its clock goes ahead.
 */
const [redirectUri] = Deno.args;
let aheadMs = 0;
const now = Date.now;
Date.now = () => now() + aheadMs;

const server = createServer();
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const { port } = server.address() as { port: number };
const issuer = `http://127.0.0.1:${port}`;
const provider = new Provider(issuer, {
  clients: [{
    client_id: "relay",
    client_secret: "a+secret/of:the%client",
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
  }],
  scopes: ["openid", "offline_access"],
  features: { revocation: { enabled: true }, introspection: { enabled: true } },
  rotateRefreshToken: true,
  ttl: { AccessToken: 3600, RefreshToken: 7200, Grant: 86_400, Session: 86_400, Interaction: 600 },
  cookies: { keys: ["a key for tests"] },
});
const serve = provider.callback();
server.on("request", (request, response) => {
  const url = new URL(request.url ?? "/", issuer);
  if (url.pathname === "/test/clock") {
    aheadMs += Number(url.searchParams.get("seconds")) * 1000;
    response.end();
  } else serve(request, response);
});
console.log(`listening at ${issuer}`);
