/** SHA-256 has 32 bytes. */
export const HASH_BYTES = 32;

/** The first 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4). */
const K = Int32Array.from(primes(64), (prime) => fraction(Math.cbrt(prime)));
/** The same of their square roots: where each hash begins. */
const START = Int32Array.from(primes(8), (prime) => fraction(Math.sqrt(prime)));
const INPUT_BITS = (1 + 2 * HASH_BYTES) * 8;
const words = new Int32Array(64);
const state = new Int32Array(8);
const input = new Uint8Array(128);
const view = new DataView(input.buffer);
input[0] = 0x01;
input[1 + 2 * HASH_BYTES] = 0x80;
view.setUint32(124, INPUT_BITS);

/**
 * The hash of an inner node as RFC 6962 has it: SHA-256(0x01 ‖ left ‖ right). Of these two blocks the
 * engine's own hash makes four times the work, most of it around the call, and a tree has one a row.
 */
export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array<ArrayBuffer> {
  input.set(left, 1);
  input.set(right, 1 + HASH_BYTES);
  const out = new Uint8Array(HASH_BYTES);
  hashInput(out, 0);
  return out;
}

/** The same in place: the `at`th pair of hashes that lie side by side becomes the `at`th hash. */
export function foldPair(hashes: Uint8Array, at: number): void {
  const from = 2 * HASH_BYTES * at;
  for (let byte = 0; byte < 2 * HASH_BYTES; byte++) input[1 + byte] = hashes[from + byte]!;
  hashInput(hashes, HASH_BYTES * at);
}

function hashInput(out: Uint8Array, to: number): void {
  state.set(START);
  compress(0);
  compress(64);
  for (let at = 0; at < 8; at++) {
    const word = state[at]!;
    out[to + 4 * at] = word >>> 24;
    out[to + 4 * at + 1] = word >>> 16;
    out[to + 4 * at + 2] = word >>> 8;
    out[to + 4 * at + 3] = word;
  }
}

/** One block of 64 bytes, from `offset` of the input, into the state. */
function compress(offset: number): void {
  const w = words, k = K;
  for (let at = 0; at < 16; at++) w[at] = view.getInt32(offset + 4 * at);
  for (let at = 16; at < 64; at++) {
    const x = w[at - 15]!, y = w[at - 2]!;
    const s0 = (x >>> 7 | x << 25) ^ (x >>> 18 | x << 14) ^ (x >>> 3);
    const s1 = (y >>> 17 | y << 15) ^ (y >>> 19 | y << 13) ^ (y >>> 10);
    w[at] = w[at - 16]! + s0 + w[at - 7]! + s1;
  }
  let a = state[0]!, b = state[1]!, c = state[2]!, d = state[3]!;
  let e = state[4]!, f = state[5]!, g = state[6]!, h = state[7]!;
  for (let at = 0; at < 64; at++) {
    const s1 = (e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7);
    const t1 = h + s1 + (e & f ^ ~e & g) + k[at]! + w[at]! | 0;
    const s0 = (a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^ (a >>> 22 | a << 10);
    const t2 = s0 + (a & b ^ a & c ^ b & c) | 0;
    h = g, g = f, f = e, e = d + t1 | 0, d = c, c = b, b = a, a = t1 + t2 | 0;
  }
  state[0]! += a, state[1]! += b, state[2]! += c, state[3]! += d;
  state[4]! += e, state[5]! += f, state[6]! += g, state[7]! += h;
}

function primes(count: number): number[] {
  const found: number[] = [];
  for (let n = 2; found.length < count; n++) {
    if (found.every((prime) => n % prime !== 0)) found.push(n);
  }
  return found;
}

function fraction(root: number): number {
  return (root - Math.floor(root)) * 2 ** 32 | 0;
}
