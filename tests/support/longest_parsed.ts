/** Does something, and tells the length of the longest text that `JSON.parse` was given meanwhile. */
export async function longestParsed(work: () => Promise<void>): Promise<number> {
  const { parse } = JSON;
  let longest = 0;
  JSON.parse = (text, reviver) => {
    longest = Math.max(longest, text.length);
    return parse(text, reviver);
  };
  try {
    await work();
  } finally {
    JSON.parse = parse;
  }
  return longest;
}
