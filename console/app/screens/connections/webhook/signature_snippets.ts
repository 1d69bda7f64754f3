/** Functions that verify a delivery's signature, as docs/webhooks.md has them. */
const JS =
  `import { createHmac, timingSafeEqual } from "node:crypto";\n\nexport function verify(secret, headers, body, maxAgeSeconds = 300) {
  const key = secret.startsWith("whsec_") ? Buffer.from(secret.slice(6), "base64") : secret;
  const sentAt = headers["webhook-timestamp"];
  const hmac = createHmac("sha256", key).update(\`\${headers["webhook-id"]}.\${sentAt}.\`).update(body);
  const good = Buffer.from(\`v1,\${hmac.digest("base64")}\`);
  const given = headers["webhook-signature"].split(" ").map((each) => Buffer.from(each));
  return Math.abs(Date.now() / 1000 - Number(sentAt)) <= maxAgeSeconds &&
    given.some((each) => each.length === good.length && timingSafeEqual(each, good));
}
`;
const PYTHON = `import base64, hashlib, hmac, time

def verify(secret: str, headers: dict, body: bytes, max_age_s: int = 300) -> bool:
    whsec = secret.startswith("whsec_")
    key = base64.b64decode(secret[6:]) if whsec else secret.encode()
    sent_at = headers["webhook-timestamp"]
    signed = f"{headers['webhook-id']}.{sent_at}.".encode() + body
    good = b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    given = headers["webhook-signature"].encode().split(b" ")
    return abs(time.time() - int(sent_at)) <= max_age_s and any(hmac.compare_digest(good, s) for s in given)
`;

/** By the language's name. */
export const SNIPPETS = {
  "Node": JS,
  "Deno": `import { Buffer } from "node:buffer";\n${JS}`,
  "Python": PYTHON,
} as const;
