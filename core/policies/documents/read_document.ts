import { serialize } from "node:v8";
import {
  type Document,
  isMap,
  isNode,
  isScalar,
  LineCounter,
  parseDocument,
  visit,
  type YAMLMap,
} from "yaml";
import type { z } from "zod";
import { failedTests } from "../../shield/policy/policy_tests.ts";
import { type NamedDocument, PolicyDocument } from "./document.ts";
import { mergePolicies } from "./merge.ts";
import type { PolicyFile } from "../git/policy_files.ts";

/** A fault in a policy file, at its place. */
export interface FileIssue {
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  readonly column: number;
  /** Where in the document, such as `rules.0.verdict`; empty for the whole. */
  readonly path: string;
  readonly message: string;
}

/** A file that was read, and what is wrong with it. */
export type ReadFile =
  | { readonly document: NamedDocument; readonly issues: readonly [] }
  | { readonly document: null; readonly issues: readonly FileIssue[] };

const ISSUES_MAX = 50;
/** What stands in a text for each byte that is no UTF-8. */
const NO_LETTER = "\ufffd";
/** A version is one value of the store, of 64 KiB, with the file's path and where it came from. */
const STORED_BYTES_MAX = 60 * 1024;

/** Reads a policy file and runs its tests; JSON is read as the YAML that it is. Never throws. */
export async function readPolicyFile({ path: file, text }: PolicyFile): Promise<ReadFile> {
  const lines = new LineCounter();
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return { file, line: Math.max(1, line), column: Math.max(1, col) };
  };
  const failed = (issues: readonly FileIssue[]): ReadFile => ({
    document: null,
    issues,
  });
  // A rule with a letter that got lost would match nothing, and nobody would see it.
  const lost = text.indexOf(NO_LETTER);
  if (lost >= 0) {
    const before = text.slice(0, lost).split("\n");
    const message = "This is no letter: save the file as UTF-8.";
    const at = { file, line: before.length, column: before.at(-1)!.length + 1 };
    return failed([{ ...at, path: "", message }]);
  }
  let parsed: Document;
  let value: unknown;
  try {
    parsed = parseDocument(text, {
      lineCounter: lines,
      prettyErrors: false,
      uniqueKeys: false,
    });
    const wrong = syntaxIssues(parsed);
    if (wrong.length > 0) {
      return failed(
        wrong.slice(0, ISSUES_MAX).map(({ at, message }) => ({ ...place(at), path: "", message })),
      );
    }
    value = parsed.toJS();
  } catch {
    return failed([{ ...place(0), path: "", message: "cannot be read: it is nested too deeply" }]);
  }
  const at = (path: readonly PropertyKey[], ofKey = false) => place(offsetOf(parsed, path, ofKey));
  const checked = PolicyDocument.safeParse(value);
  if (!checked.success) {
    const issues = checked.error.issues.flatMap(spread).slice(0, ISSUES_MAX);
    return failed(
      issues.map(({ path, message, ofKey }) => ({
        ...at(path, ofKey),
        path: path.join("."),
        message,
      })),
    );
  }
  const document = { ...checked.data, name: checked.data.name ?? nameOf(file) };
  if (document.name === "") {
    return failed([{
      ...place(0),
      path: "name",
      message: "is missing, and the file's name is none",
    }]);
  }
  const storedBytes = serialize(document).length;
  if (storedBytes > STORED_BYTES_MAX) {
    const message =
      `takes ${storedBytes} bytes where it is kept; ${STORED_BYTES_MAX} are allowed. A text with a letter ` +
      "beyond Latin-1 takes two for each of its letters.";
    return failed([{ ...place(0), path: "", message }]);
  }
  const { tests = [], agents } = document;
  const policy = mergePolicies([document], null).policy ?? { rules: [] };
  const broken = await failedTests(policy, tests, agents?.labels);
  if (broken.length > 0) {
    return failed(broken.map(({ at: index, message }) => ({
      ...at(["tests", index]),
      path: `tests.${index}`,
      message,
    })));
  }
  return { document, issues: [] };
}

interface Wrong {
  readonly at: number;
  readonly message: string;
}

/** What YAML itself has against a text, and what a policy may not use of it. */
function syntaxIssues(parsed: Document): Wrong[] {
  const wrong: Wrong[] = [...parsed.errors, ...parsed.warnings].map(({ code, message, pos }) => ({
    at: pos[0],
    message: code === "MULTIPLE_DOCS" ? "One file holds one policy." : message,
  }));
  // An older version reads `no` as false and knows keys that stand for others.
  const version = parsed.directives?.yaml.version ?? "1.2";
  if (version !== "1.2") {
    wrong.push({
      at: 0,
      message: `A policy is YAML 1.2: the directive of ${version} is not obeyed.`,
    });
  }
  // An alias hides what a reviewer should read, and a few of them stand for megabytes.
  visit(parsed, {
    Alias(_, node) {
      wrong.push({ at: node.range?.[0] ?? 0, message: "An alias is not read: write it out." });
    },
    Map(_, map) {
      wrong.push(...wrongKeys(map));
    },
  });
  return wrong;
}

/** Keys that are no keys. The library compares every key of a map with every other, which a long map would make last. */
function wrongKeys({ items }: YAMLMap): Wrong[] {
  const seen = new Set<string>();
  return items.flatMap(({ key }) => {
    const name = String(key);
    const isRepeated = seen.has(name);
    seen.add(name);
    const at = isNode(key) ? key.range?.[0] ?? 0 : 0;
    // The library would make a text of it, and warn of it in the log in the file's own words.
    if (!isScalar(key)) return [{ at, message: "A key is one text, no list and no map." }];
    // As a label's name it would get lost, and the policy concern every agent.
    if (name === "__proto__") return [{ at, message: "The key __proto__ is not read." }];
    return isRepeated ? [{ at, message: `The key ${name} stands twice.` }] : [];
  });
}

interface Issue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
  /** True when the name of the field is wrong, not what it says. */
  readonly ofKey?: true;
}

/** Unknown fields are told one by one, each at its own place. */
function spread(issue: z.core.$ZodIssue): Issue[] {
  if (issue.code !== "unrecognized_keys") return [issue];
  return issue.keys.map((key) => ({
    path: [...issue.path, key],
    message: "is no field of a policy",
    ofKey: true,
  }));
}

/** Where a part of the document begins, or the nearest part around it that is there. */
function offsetOf(parsed: Document, path: readonly PropertyKey[], ofKey: boolean): number {
  let node: unknown = parsed.contents;
  let offset = isNode(node) ? node.range?.[0] ?? 0 : 0;
  for (const [depth, part] of path.entries()) {
    const pair = isMap(node)
      ? node.items.find(({ key }) => String(key) === String(part))
      : undefined;
    const value = parsed.getIn(path.slice(0, depth + 1), true);
    const wantsKey = (ofKey && depth === path.length - 1) || !isNode(value);
    const place = wantsKey ? pair?.key : value;
    if (!isNode(place)) break;
    offset = place.range?.[0] ?? offset;
    node = value;
  }
  return offset;
}

/** The file's name without folders and ending, as far as it can be a policy's name. */
function nameOf(file: string): string {
  const last = file.split("/").at(-1) ?? "";
  const name = last.replace(/\.[^.]+$/, "").toLowerCase().replaceAll(/[^a-z0-9_.-]/g, "-");
  return name.replace(/^[^a-z0-9]+/, "").slice(0, 64);
}
