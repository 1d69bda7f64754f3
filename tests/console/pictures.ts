import type { Page } from "playwright-core";
import { ConsoleTest, OWNER } from "./browser/harness.ts";

/** Writes the pictures of docs/pictures from a relay with three agents and a few commands: `deno task pictures`. */
const PICTURES = new URL("../../docs/pictures/", import.meta.url).pathname;
const WIDE = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };
const COMMANDS: readonly [agent: string, command: string][] = [
  ["web-1", "uptime"],
  ["web-2", "df -h / | tail -n 1"],
  ["db-1", "rm -rf /var/lib/postgresql"],
  ["web-1", "git push --force origin main"],
  ["db-1", "chmod -R 777 /srv/data"],
  ["web-2", "ls -l /etc/hostname"],
];

await using here = await ConsoleTest.start();
const owner = await here.signUp();
for (const [name, env] of [["web-1", "prod"], ["web-2", "prod"], ["db-1", "staging"]]) {
  await here.agent(owner, name!, { env: env! });
}
let approval = "", ran = "";
for (const [agent, command] of COMMANDS) {
  const { body } = await owner<{ approval_id?: string | null; command_id?: string }>(
    "GET",
    `/api/exec/${agent}?command=${encodeURIComponent(command)}`,
  );
  approval ||= body.approval_id ?? "";
  ran ||= body.command_id ?? "";
}
await Deno.mkdir(PICTURES, { recursive: true });
for (const colorScheme of ["light", "dark"] as const) {
  const person = await here.person({ viewport: WIDE, colorScheme });
  const page = await person.signIn(OWNER, "/");
  await picture(page, "overview", colorScheme);
  await page.goto(`${here.url}/console/run`);
  await page.locator("main textarea").first().fill(
    "tar czf - /etc/nginx | ssh backup 'cat > nginx.tgz'",
  );
  await picture(page, "run", colorScheme);
  await page.goto(`${here.url}/console/commands/${ran}`);
  await picture(page, "command", colorScheme);
  await page.goto(`${here.url}/console/audit`);
  await picture(page, "audit", colorScheme);
  await page.setViewportSize(PHONE);
  await page.goto(`${here.url}/console/approvals/${approval}`);
  await picture(page, "approval", colorScheme);
}

async function picture(page: Page, name: string, scheme: string): Promise<void> {
  await page.locator("main h1").first().waitFor();
  await page.locator(".loading, .starting").first().waitFor({ state: "detached" });
  await page.evaluate(
    "document.fonts.ready.then(() => new Promise((done) => setTimeout(done, 800)))",
  );
  await page.screenshot({ path: `${PICTURES}${name}-${scheme}.png` });
}
