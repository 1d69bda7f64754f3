import { exportJWK, generateKeyPair, SignJWT } from "jose";

const CLIENT = "relay-console";

/**
 * An OpenID provider on this machine that asks nobody for anything: it says at once that the browser's person is the
 * one with this email, or that they refused.
 */
export async function startProvider(email: string) {
  const { privateKey, publicKey } = await generateKeyPair("ES256");
  const keys = [{ ...await exportJWK(publicKey), kid: "1", alg: "ES256", use: "sig" }];
  const nonces = new Map<string, string | null>();
  const provider = { issuer: "", refuses: false };
  const authorize = (query: URLSearchParams): Response => {
    const back = new URL(query.get("redirect_uri")!);
    back.searchParams.set("state", query.get("state")!);
    if (provider.refuses) back.searchParams.set("error", "access_denied");
    else {
      const code = `code-${nonces.size}`;
      nonces.set(code, query.get("nonce"));
      back.searchParams.set("code", code);
    }
    return Response.redirect(back.href, 303);
  };
  const token = async (form: FormData): Promise<Response> => {
    const nonce = nonces.get(String(form.get("code"))) ?? undefined;
    const claims = { email, email_verified: true, nonce };
    const id_token = await new SignJWT(claims).setProtectedHeader({ alg: "ES256", kid: "1" })
      .setIssuer(provider.issuer).setAudience(CLIENT).setSubject("1").setIssuedAt()
      .setExpirationTime("5m").sign(privateKey);
    return Response.json({ access_token: "opaque", token_type: "Bearer", id_token });
  };
  const serve = async (request: Request): Promise<Response> => {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/authorize") return authorize(searchParams);
    if (pathname === "/token") return await token(await request.formData());
    if (pathname === "/keys") return Response.json({ keys });
    return Response.json({
      issuer: provider.issuer,
      // By another name, so that the browser comes back from another site.
      authorization_endpoint: `${provider.issuer.replace("127.0.0.1", "localhost")}/authorize`,
      token_endpoint: `${provider.issuer}/token`,
      jwks_uri: `${provider.issuer}/keys`,
      id_token_signing_alg_values_supported: ["ES256"],
    });
  };
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, serve);
  provider.issuer = `http://127.0.0.1:${server.addr.port}`;
  return Object.assign(provider, {
    clientId: CLIENT,
    [Symbol.asyncDispose]: () => server.shutdown(),
  });
}
