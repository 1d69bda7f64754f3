const NAMED = "(?:password|passwd|passphrase|pwd|secret|token|api[-_]?key|access[-_]?key|" +
  "private[-_]?key|credentials?)";

/** Spellings of a secret's value in a command line. */
const SPELLINGS = [
  new RegExp(`${NAMED}[\\w-]*["']?\\s*[=:]\\s*\\S`, "i"),
  new RegExp(`\\s--?[\\w-]*${NAMED}[\\w-]*\\s+\\S`, "i"),
  /\b(?:bearer|basic)\s+\S/i,
  /:\/\/[^\s/@:]*:[^\s/@]+@/,
  /\s(?:-u|--user)[= ]?["']?[^\s:]+:\S/,
  /\b(?:ghp|gho|ghs|github_pat|glpat|xox[abp]|sk|AKIA)[-_]?\w{16}/,
  /PRIVATE KEY-----/,
];
/** Programs whose option `-p` takes a password without a space. */
const SHORT = /\b(?:mysql|mysqldump|mysqladmin|mariadb|sshpass|redis-cli)\b/;

/** Whether a command line seems to hold the value of a secret. */
export const holdsSecret = (line: string): boolean =>
  SPELLINGS.some((spelling) => spelling.test(line)) ||
  SHORT.test(line) && /\s-[pa]\s?\S/.test(line);
