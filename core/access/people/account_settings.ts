import { users } from "../../../kv/records/user.ts";
import type { Work, Writing } from "../../work/work.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { homeOf } from "../roles/grant.ts";
import { personOf } from "../roles/assign.ts";
import { mustActForPerson } from "./person.ts";

/** The settings of the caller, or of the person who made the caller's key. */
export async function readAccountSettings({ db, actor }: Work) {
  const { language, timezone } = await personOf(db, actor.tenant.org, actor.userId);
  return { language, timezone };
}

/**
 * Changes the given settings. The language is stored in canonical form, the timezone as written.
 * @throws {Fault} VALIDATION_FAILED, FORBIDDEN for a token that is limited to its scopes
 */
export async function updateAccountSettings(
  work: Writing,
  input: { readonly language?: string | undefined; readonly timezone?: string | undefined },
) {
  const { actor, tx } = work;
  mustActForPerson(actor);
  const user = await personOf(tx, actor.tenant.org, actor.userId);
  const language = input.language === undefined ? user.language : languageOf(input.language);
  const timezone = input.timezone === undefined ? user.timezone : timezoneOf(input.timezone);
  if (language !== user.language || timezone !== user.timezone) {
    tx.put(users, homeOf(actor.tenant.org), { ...user, language, timezone });
    emit(work, tx, actor.tenant, {
      type: "account_settings_changed",
      resource: { type: "user", id: user.id },
      details: { language, timezone },
    });
  }
  return { language, timezone };
}

/** The canonical BCP 47 tag of a registered language. */
function languageOf(text: string): string {
  const tag = canonicalTag(text);
  if (tag !== null && isRegistered(new Intl.Locale(tag).language)) return tag;
  throw invalid("language", "must be a BCP 47 language tag, such as en or pt-BR");
}

function canonicalTag(text: string): string | null {
  try {
    return Intl.getCanonicalLocales(text)[0] ?? null;
  } catch {
    return null;
  }
}

/** A well-formed tag of an unknown language has no display name. */
const isRegistered = (language: string): boolean =>
  new Intl.DisplayNames("en", { type: "language", fallback: "none" }).of(language) !== undefined;

/** An IANA name. Offsets such as +02:00 are refused. */
function timezoneOf(text: string): string {
  try {
    if (/^[A-Za-z]/.test(text)) {
      new Intl.DateTimeFormat("en", { timeZone: text });
      return text;
    }
  } catch {
    // Unknown names are refused below, like offsets.
  }
  throw invalid("timezone", "must be an IANA time zone, such as Europe/Prague");
}

function invalid(field: string, message: string): Fault {
  const issues = [{ path: `body.${field}`, message }];
  return new Fault("VALIDATION_FAILED", `The ${field} ${message}.`, { issues });
}
