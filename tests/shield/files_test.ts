import assert from "node:assert/strict";
import { inspectCommand } from "../../core/shield/inspect.ts";

Deno.test("inspectCommand: paths are resolved in the current folder, and find finds paths below its start", () => {
  const dangers = [
    "cd /etc && > passwd",
    "cd /etc; cp /dev/null passwd",
    "cd /etc && rm -f passwd",
    "cd /dev; dd if=/dev/zero of=sda",
    ": >& /etc/passwd",
    "find / -type f -exec rm -f {} +",
    "find / -xdev -type f -print0 | xargs -0 rm",
    "find / -exec chmod 777 {} \\;",
    "find /etc -type f -exec cp /dev/null {} \\;",
    "chmod 000 /",
    "chown nobody /etc/passwd",
    "mv /bin/sh /tmp",
    "mv /etc/passwd /tmp",
    "git clean -fdx -e --dry-run",
    "git clean -fdx -e -n",
    "rsync -a --delete --exclude --dry-run a/ /srv/",
  ];
  for (const command of dangers) assert.notEqual(inspectCommand(command).verdict, "allow", command);
  const harmless = [
    "make 2>&1 | tee log",
    "echo x >& log",
    "cd src && > passwd",
    "find . -name '*.pyc' -exec rm {} +",
    "find /var/log -type f -exec gzip {} \\;",
    "find src -type f -exec grep -l foo {} +",
    "find . -maxdepth 0 -exec rm {} +",
    "find . -print0 | xargs -0 ls -l",
    "chmod 755 script.sh",
    "chown www-data /var/www/x",
    "git clean -fdn",
    "rsync -av --dry-run --delete a/ b/",
  ];
  for (const command of harmless) assert.equal(inspectCommand(command).verdict, "allow", command);
});
