/** One line of untrusted text, with control and invisible characters replaced for a terminal. */
export const printableLine = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\ufffd");
