import { type CodeScan, type Rule, rule } from "../rule.ts";
import { isServedPlace } from "./served.ts";

/** A call with a string as its first argument, and the string behind it: another path, or a mode. */
const CALL =
  /(?<![\w$])((?:os\.)?[A-Za-z_]\w*)\s*\(\s*["']([^"'\n]{0,300})["'](?:\s*,\s*["']([^"'\n]{0,300})["'])?/g;
/** Names of calls that write, move or cut the file that they name. */
const WRITING =
  /^(?:os\.replace|(?:os\.)?(?:write|writefile|writefilesync|writetextfile|writetextfilesync|appendfile|appendfilesync|file_put_contents|truncate|truncatesync|rename|renamesync|move|copy|copyfile|copyfilesync|symlink|symlinksync))$/i;
const OPENING = /^(?:f?open|opensync)$/i;
const WRITE_MODE = /^(?:[wax+]|r\+)/;

/** Whether code writes a file where programs and pages are served from. */
function writesServedInCode({ code, names }: CodeScan): boolean {
  const writesText = names.has("write_text") || names.has("write_bytes");
  for (const [, name = "", first = "", second = ""] of code.matchAll(CALL)) {
    const writes = WRITING.test(name) || OPENING.test(name) && WRITE_MODE.test(second) ||
      writesText && name === "Path";
    if (writes && (isServedPlace(first) || isServedPlace(second))) return true;
  }
  return false;
}

/** Code that changes what a machine serves. */
export const SERVED_CODE_RULES: readonly Rule[] = [
  rule({
    id: "production.served_code",
    title: "Write in code where programs and pages are served from",
    matchCode: writesServedInCode,
    weight: [3, 3],
    threat: "production_change",
    explanation: "The code writes or moves files that a running machine serves.",
    safer: "Write to a folder of your own, compare, and deploy through the pipeline.",
    hits: [
      `python3 -c "open('/srv/www/index.html','w').write('x')"`,
      `node -e 'require("fs").writeFileSync("/srv/www/index.html","x")'`,
      `python3 -c "import os; os.rename('/srv/app/current','/srv/app/old')"`,
      `python3 -c 'from pathlib import Path; Path("/opt/app/x.conf").write_text("x")'`,
    ],
    misses: [
      `python3 -c "print(open('/srv/www/index.html').read())"`,
      `node -e 'fs.writeFileSync("out.html", fs.readFileSync("/srv/www/index.html"))'`,
      `python3 -c "open('/srv/app/logs/x.log','a').write('x')"`,
    ],
  }),
];
