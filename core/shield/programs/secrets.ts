import { hasGlob, normalizePath } from "./paths.ts";

const SECRET_NAMES = new Set([
  "shadow",
  "gshadow",
  "id_rsa",
  "id_dsa",
  "id_ecdsa",
  "id_ed25519",
  "identity",
  ".netrc",
  "_netrc",
  ".pgpass",
  ".git-credentials",
  ".htpasswd",
  ".npmrc",
  ".pypirc",
  "master.key",
  "credentials.json",
  "credential.json",
  "agent-key.json",
  "verdict-key",
  ".vault-token",
  "service-account.json",
  "secrets.yml",
  "credentials.yml",
  "credentials.yaml",
  "secrets.yaml",
  ".my.cnf",
  "kubeconfig",
  "sudoers",
  "wallet.dat",
  "login.keychain",
  "login.keychain-db",
  "logins.json",
  "key4.db",
  "cookies.sqlite",
  "master.passwd",
  ".env",
  "terraform.tfstate",
  ".terraformrc",
  "opasswd",
  "krb5.keytab",
  ".bash_history",
  ".zsh_history",
  "adc.json",
  "application_default_credentials.json",
  "admin.conf",
  "credentials.tfrc.json",
  "k3s.yaml",
  ".dockercfg",
  "private.key",
  "privkey.pem",
  "server.key",
  "ssh_host_rsa_key",
  "ssh_host_ed25519_key",
  "ssh_host_ecdsa_key",
  "sam",
  "ntds.dit",
  "unattend.xml",
  "sysprep.inf",
  "node-token",
  "login data",
  "login.keyring",
  "default.keyring",
  "msal_token_cache.json",
  "msal_token_cache.bin",
  "service_principal_entries.json",
  "debian.cnf",
  "rclone.conf",
  ".s3cfg",
  ".boto",
  ".mylogin.cnf",
  ".vault_pass",
  ".databrickscfg",
  ".smbcredentials",
  ".passwd-s3fs",
  ".dockerconfigjson",
  "pgpass.conf",
  "chap-secrets",
  "pap-secrets",
  "ipsec.secrets",
  "sasl_passwd",
  "rke2.yaml",
  "node-token",
  "passdb.tdb",
  "secrets.tdb",
  "terraform.tfstate.backup",
]);
const SECRET_TAILS = [
  ".aws/credentials",
  ".kube/config",
  ".docker/config.json",
  "gcloud/credentials.db",
  ".config/gh/hosts.yml",
  "gcloud/access_tokens.db",
  "serviceaccount/token",
  ".azure/accesstokens.json",
  ".config/hub",
  ".kube",
  ".azure",
  ".config/gcloud",
  "default/cookies",
  "network/cookies",
  ".mozilla/firefox",
  ".config/google-chrome",
  ".cargo/credentials",
  ".cargo/credentials.toml",
  ".gem/credentials",
  ".m2/settings-security.xml",
  "sops/age/keys.txt",
  ".oci/config",
  "doctl/config.yaml",
  ".fly/config.yml",
  "hcloud/cli.toml",
  ".snowsql/config",
  ".kaggle/kaggle.json",
  "huggingface/token",
];
/** The last characters of these endings, to reject most paths quickly. */
const SECRET_ENDS = new Set(SECRET_TAILS.map((tail) => tail.slice(tail.lastIndexOf("/") + 1)));
const SECRET_FOLDERS = new Set([
  ".ssh",
  ".gnupg",
  ".aws",
  ".password-store",
  "keychains",
  "sudoers.d",
]);
/** Folders in which every file is a secret, and the machine's memory. */
const SECRET_PLACES =
  /^\/(?:(?:(?:var\/)?run\/secrets|etc\/ssl\/private|etc\/pki\/(?:tls\/)?private|etc\/networkmanager\/system-connections|etc\/wireguard|var\/lib\/samba\/private|var\/lib\/kubelet\/pki)(?:\/|$)|dev\/k?mem$|proc\/(?:kcore|\w+\/mem)$)/;
/** Of these places: certificates, and the name of a pod's namespace. */
const OPEN_NAMES = /\.crt$|\/namespace$/;

/** Capital and small letters are of one class; so is what is not there and `@`. */
const classAt = (text: string, at: number): number => text.charCodeAt(at) & 31;

function bitsOf(...starts: readonly string[]): number[] {
  const bits = Array<number>(32).fill(0);
  for (const start of starts) bits[classAt(start, 0)]! |= 1 << classAt(start, 1);
  return bits;
}

/** By the class of the first letter, a bit for each class of the second one of all these names. */
const SECRET_STARTS: readonly number[] = bitsOf(
  ...[...SECRET_NAMES, ...SECRET_ENDS, ...SECRET_FOLDERS, "id_", "environ"],
  // The name stands before these characters.
  ...[".", "./", ".."],
);

const startsSecret = (path: string, at: number): boolean =>
  (SECRET_STARTS[classAt(path, at)]! & (1 << classAt(path, at + 1))) !== 0;

const SLASH = 0x2f;

/**
 * Whether the last name of a path, or its folder's, begins like the name of a secret. Without this test, a long list
 * of arguments takes 28 % longer.
 */
function mayBeSecret(raw: string): boolean {
  const slash = raw.lastIndexOf("/");
  if (startsSecret(raw, slash + 1) || raw.includes("\\")) return true;
  if (slash < 0) return false;
  const folder = raw.lastIndexOf("/", slash - 1) + 1;
  // What ends in a slash, or has an empty folder, is named by what stands before.
  return slash === raw.length - 1 || raw.charCodeAt(folder) === SLASH || startsSecret(raw, folder);
}

/** A private key that a service of the machine has, or a file in a place for secrets; those of packages are public. */
function isServiceKey(raw: string): boolean {
  if (raw.charCodeAt(0) !== SLASH) return false;
  const path = normalizePath(raw.toLowerCase());
  return SECRET_PLACES.test(path) && !OPEN_NAMES.test(path) ||
    path.endsWith(".key") && path.startsWith("/etc/") && !path.startsWith("/etc/apt/");
}

/** Whether a file of this name holds keys, tokens or password hashes. */
export function isSecret(raw: string): boolean {
  return mayBeSecret(raw) && isSecretName(raw) || isServiceKey(raw) || isInStore(raw);
}

/** A file anywhere below a store of passwords or keys: `~/.password-store/prod/db.gpg`. */
const isInStore = (path: string): boolean =>
  (path.charCodeAt(0) === SLASH || path.charCodeAt(0) === TILDE) &&
  path.includes("/.") && STORES.test(path);

const TILDE = 0x7e;
const STORES = /\/\.(?:password-store|gnupg)\/.*\.(?:gpg|age|key)$/;

function isSecretName(raw: string): boolean {
  const path = normalizePath(raw.toLowerCase());
  const slash = path.lastIndexOf("/");
  const last = slash < 0 ? path : path.slice(slash + 1);
  const folder = slash < 0 ? "" : path.slice(path.lastIndexOf("/", slash - 1) + 1, slash);
  if (last === "environ" && path.startsWith("/proc/")) return true;
  if (last.endsWith(".kdbx") || last.startsWith(".passw")) return true;
  if (last.endsWith(".pub") || last === "known_hosts" || last === "authorized_keys") return false;
  if (SECRET_NAMES.has(last) || (last.startsWith(".env.") && !isExample(last))) return true;
  if (
    (last.startsWith("id_") || SECRET_NAMES.has(GLOBBED.exec(last)?.[1] ?? "")) && hasGlob(last)
  ) {
    return true;
  }
  if (SECRET_ENDS.has(last) && SECRET_TAILS.some((tail) => path.endsWith(tail))) return true;
  if (last === "config" && folder === ".ssh") return false;
  return (SECRET_FOLDERS.has(last) || SECRET_FOLDERS.has(folder)) &&
    !last.endsWith(".d") && (folder !== ".aws" || last !== "config");
}

/** `.env*`: a hidden file's name, and whatever follows. */
const GLOBBED = /^(\.[^*?[]+)[*?[]/;

/** Whether a secret file is read in daily work, such as a project's `.env`, unlike a private key. */
export function isEveryday(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return name.startsWith(".env") || name === ".npmrc" || name.endsWith("_history");
}

function isExample(name: string): boolean {
  return name.endsWith(".example") || name.endsWith(".sample") || name.endsWith(".template") ||
    name.endsWith(".dist");
}
