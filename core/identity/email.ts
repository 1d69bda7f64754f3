/**
 * An email in the form that is compared: trimmed, in lower case. Null for non-ASCII characters, because some become
 * ASCII letters in lower case and would match somebody else's email.
 */
export function canonicalEmail(text: string): string | null {
  return /[^\x20-\x7e]/.test(text.trim()) ? null : text.trim().toLowerCase();
}
