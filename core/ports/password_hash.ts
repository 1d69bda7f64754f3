import { Buffer } from "node:buffer";
import { scrypt, timingSafeEqual } from "node:crypto";

/** The algorithm that hashes a password, with its work factors. */
export type Cost =
  | {
    readonly algorithm: "argon2id";
    readonly memoryKib: number;
    readonly passes: number;
    readonly lanes: number;
  }
  | {
    readonly algorithm: "scrypt";
    /** Base-2 logarithm of the number of blocks. */
    readonly logN: number;
    readonly blockSize: number;
    readonly lanes: number;
  };

/** The cost and salt of one hash. */
export type Recipe = Cost & { readonly salt: Uint8Array<ArrayBuffer> };

/** A parsed PHC string. */
export interface StoredHash {
  readonly recipe: Recipe;
  readonly hash: Uint8Array;
}

const HASH_BYTES = 32;

/** OWASP's first choice for Argon2id: 19 MiB, about 64 ms. */
const ARGON2 = { algorithm: "argon2id", memoryKib: 19_456, passes: 2, lanes: 1 } as const;
/** OWASP's scrypt at 32 MiB, about 350 ms: for runtimes without Argon2id. */
const SCRYPT = { algorithm: "scrypt", logN: 15, blockSize: 8, lanes: 3 } as const;

/** Upper bounds: an altered record must not request gigabytes or minutes of work. */
const BOUNDS = { memoryKib: 65_536, passes: 8, logN: 17, blockSize: 8, lanes: 4 } as const;

const HASH = String.raw`\$(?<salt>[A-Za-z0-9+/]+)\$(?<hash>[A-Za-z0-9+/]+)$`;
/** Each group is named after the field of the recipe that it fills. */
const FORMATS = {
  argon2id: new RegExp(
    String.raw`^\$argon2id\$v=19\$m=(?<memoryKib>\d{1,6}),t=(?<passes>\d{1,2}),p=(?<lanes>\d)` +
      HASH,
  ),
  scrypt: new RegExp(
    String.raw`^\$scrypt\$ln=(?<logN>\d{1,2}),r=(?<blockSize>\d{1,2}),p=(?<lanes>\d)` + HASH,
  ),
} as const;

/** Parses a PHC string; null when it is malformed or exceeds the bounds. */
export function parseHash(phc: string): StoredHash | null {
  const stored = parseAs("argon2id", phc) ?? parseAs("scrypt", phc);
  return stored !== null && isSensible(stored) ? stored : null;
}

/** Formats a hash and its recipe as a PHC string. */
export function formatHash({ recipe, hash }: StoredHash): string {
  const cost = recipe.algorithm === "argon2id"
    ? `argon2id$v=19$m=${recipe.memoryKib},t=${recipe.passes},p=${recipe.lanes}`
    : `scrypt$ln=${recipe.logN},r=${recipe.blockSize},p=${recipe.lanes}`;
  return `$${cost}$${base64(recipe.salt)}$${base64(hash)}`;
}

/** Hashes a password off the event loop: about 60 ms with Argon2id, 350 ms with scrypt. */
export async function deriveHash(password: string, recipe: Recipe): Promise<Uint8Array> {
  return recipe.algorithm === "argon2id"
    ? await deriveArgon2(password, recipe)
    : await deriveScrypt(password, recipe);
}

/** Compares in constant time. */
export function equalHashes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

/** The cost of hashing a password in this runtime. */
export const passwordCost = (): Cost => hasArgon2() ? ARGON2 : SCRYPT;

/** True when this runtime's WebCrypto supports Argon2id. */
function hasArgon2(): boolean {
  const algorithm = argon2Parameters({
    algorithm: "argon2id",
    memoryKib: 8,
    passes: 1,
    lanes: 1,
    salt: new Uint8Array(16),
  });
  return "supports" in SubtleCrypto &&
    SubtleCrypto.supports("deriveBits", algorithm, HASH_BYTES * 8);
}

type Argon2Recipe = Extract<Recipe, { algorithm: "argon2id" }>;
type ScryptRecipe = Extract<Recipe, { algorithm: "scrypt" }>;

function argon2Parameters({ memoryKib, passes, lanes, salt }: Argon2Recipe) {
  return { name: "Argon2id", nonce: salt, memory: memoryKib, passes, parallelism: lanes };
}

async function deriveArgon2(password: string, recipe: Argon2Recipe): Promise<Uint8Array> {
  const bytes = new TextEncoder().encode(password);
  const key = await crypto.subtle.importKey("raw-secret", bytes, "Argon2id", false, ["deriveBits"]);
  const bits = await crypto.subtle.deriveBits(argon2Parameters(recipe), key, HASH_BYTES * 8);
  return new Uint8Array(bits);
}

function deriveScrypt(password: string, recipe: ScryptRecipe): Promise<Uint8Array> {
  const { logN, blockSize: r, lanes: p, salt } = recipe;
  const N = 2 ** logN;
  // The limit counts more than the blocks, so it is set to twice their size.
  const options = { N, r, p, maxmem: 2 * 128 * N * r };
  return new Promise((resolve, reject) => {
    scrypt(password, salt, HASH_BYTES, options, (error, hash) => {
      if (error === null) resolve(hash);
      else reject(error);
    });
  });
}

function parseAs(algorithm: Recipe["algorithm"], phc: string): StoredHash | null {
  const groups = FORMATS[algorithm].exec(phc)?.groups;
  if (groups === undefined) return null;
  const { salt = "", hash = "", ...texts } = groups;
  const cost = Object.fromEntries(Object.entries(texts).map(([name, n]) => [name, Number(n)]));
  const recipe = { algorithm, ...cost, salt: fromBase64(salt) } as Recipe;
  return { recipe, hash: fromBase64(hash) };
}

function isSensible({ recipe, hash }: StoredHash): boolean {
  const { salt, algorithm: _, ...cost } = recipe;
  const affordable = Object.entries(cost).every(([name, value]) =>
    value >= 1 && value <= BOUNDS[name as keyof typeof BOUNDS]
  );
  return affordable && salt.length >= 8 && salt.length <= 64 && hash.length === HASH_BYTES;
}

/** Base64 without padding, as the PHC format requires. */
function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64").replaceAll("=", "");
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(text, "base64"));
}
