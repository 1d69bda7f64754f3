import { z } from "zod";
import {
  decideDeviceLogin,
  pollDeviceLogin,
  readDeviceLogin,
  startDeviceLogin,
} from "../core/access/access.ts";
import { SignedIn } from "./account.ts";
import { route } from "./call/route.ts";
import { devicePage } from "./pages/device_page.ts";
import { Name, Timestamp } from "./schemas/schemas.ts";

const Code = z.string().min(1).max(128);
const UserCode = z.strictObject({
  user_code: Code.meta({ description: "The code that the terminal shows." }),
});
const TRIES =
  "After 10 wrong codes in 15 minutes, of one user or from one network, the response is 429.";

const DeviceLogin = z.object({
  device_name: z.string().meta({ description: "The name that the terminal gave itself." }),
  address: z.string().meta({ description: "The network address that the request came from." }),
  status: z.enum(["pending", "approved", "denied"]),
  created_at: Timestamp,
  expires_at: Timestamp,
}).meta({ id: "DeviceLogin" });

export const deviceLoginRoutes = [
  route({
    id: "device_logins.start",
    method: "POST",
    path: "/api/v1/login/device",
    summary: "Start the sign-in of a terminal",
    description:
      "The device authorization grant (RFC 8628) with JSON bodies. Show `user_code` to the " +
      "person, who approves it at `verification_uri` or with POST " +
      "/api/account/device-login/decide, and poll POST /api/v1/login/device/token with " +
      "`device_code`. Both codes are valid for 10 minutes and once.",
    access: { public: "nobody is signed in before this" },
    noStore: true,
    effect: "write",
    audit: { none: "device_login_approved, device_login_denied and user_login record the outcome" },
    body: z.strictObject({
      device_name: Name.meta({ description: "Shown to the person who approves." }),
    }),
    success: {
      status: 201,
      body: z.object({
        device_code: z.string(),
        user_code: z.string().meta({ examples: ["7K3M-QX1D"] }),
        verification_uri: z.string().meta({
          description: "The page to approve at. Without RELAY_PUBLIC_URL it is relative.",
        }),
        expires_at: Timestamp,
        expires_in: z.int().meta({ description: "The lifetime of the codes in seconds." }),
        interval: z.int().meta({ description: "Seconds to wait between two polls." }),
      }),
    },
    faults: [],
    handle: async (work, { body }, { settings }) => ({
      ...await startDeviceLogin(work, body),
      verification_uri: `${settings.publicUrl ?? ""}/device`,
    }),
  }),
  route({
    id: "device_logins.poll",
    method: "POST",
    path: "/api/v1/login/device/token",
    summary: "Poll for the session of a terminal",
    description:
      "Until the person decides, `status` is authorization_pending, or slow_down when the " +
      "terminal polls more often than each `interval` seconds, which then grows by 5. After an " +
      "approval it is complete, with the session; the code does not work again. The " +
      "`details.reason` of refusals is access_denied, expired_token, used, void or unknown.",
    access: { public: "the device code is the credential" },
    noStore: true,
    effect: "steps",
    audit: { byRule: "user_login, in the organization of the person who approved" },
    body: z.strictObject({ device_code: Code }),
    rules: { "body.device_code": "must be a device code" },
    success: {
      status: 200,
      body: z.object({
        status: z.enum(["authorization_pending", "slow_down", "complete"]),
        interval: z.int().meta({ description: "Seconds to wait before the next poll." }),
        session: SignedIn.nullable(),
      }),
    },
    faults: ["FORBIDDEN", "CONFLICT", "GONE"],
    handle: (work, { body }, { signIn }) => pollDeviceLogin(work, signIn, body),
  }),
  route({
    id: "device_logins.read",
    method: "POST",
    path: "/api/account/device-login",
    summary: "Show which terminal asks to be signed in",
    description: `Show it to the person before they approve. ${TRIES}`,
    access: { signedIn: true },
    effect: "steps",
    liveOnly: true,
    audit: { none: "it shows only the name and the address of the terminal" },
    body: UserCode,
    rules: { "body.user_code": "must be the code of a sign-in" },
    success: { status: 200, body: DeviceLogin },
    faults: ["FORBIDDEN", "CONFLICT", "GONE"],
    handle: (work, { body }, { deviceLogins }) => readDeviceLogin(work, deviceLogins, body),
  }),
  route({
    id: "device_logins.decide",
    method: "POST",
    path: "/api/account/device-login/decide",
    summary: "Approve or deny the sign-in of a terminal",
    description:
      "An approval gives the terminal a session of the caller, with all of the caller's rights. " +
      `Only a signed-in user may decide, an API key may not. ${TRIES}`,
    access: { signedIn: true },
    effect: "steps",
    liveOnly: true,
    audit: { byRule: "device_login_approved or device_login_denied" },
    body: UserCode.extend({ approve: z.boolean() }),
    rules: { "body.user_code": "must be the code of a sign-in" },
    success: { status: 200, body: DeviceLogin },
    faults: ["FORBIDDEN", "CONFLICT", "GONE"],
    handle: (work, { body }, { deviceLogins }) => decideDeviceLogin(work, deviceLogins, body),
  }),
  route({
    id: "device_logins.page",
    method: "GET",
    path: "/device",
    summary: "Get the page that approves the sign-in of a terminal",
    description: "The person signs in on the page; it stores no credential and sets no cookie.",
    access: { public: "the response is the same for everybody" },
    effect: "read",
    success: { status: 200, content: ["text/html; charset=utf-8"], fixed: true },
    faults: [],
    handle: () => devicePage,
  }),
];
