/**
 * Characters that are not seen, or that change what is seen: controls, invisible, bidirectional and other format
 * characters, spaces other than the ordinary one. Line breaks and tabs stay.
 */
export const HIDDEN =
  // deno-lint-ignore no-control-regex -- the controls are what is looked for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff]|[\u{e0000}-\u{e0fff}]|[\ud800-\udfff]|\p{Cf}/gu;
