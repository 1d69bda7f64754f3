import { nextTurn } from "../../ports/ports.ts";
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
import { failedTests } from "../../shield/shield.ts";
import { type NamedDocument, PolicyDocument } from "./document.ts";
import { mergePolicies } from "./merge.ts";
import type { PolicyFile } from "../git/policy_files.ts";

/** An error in a policy file, with its position. */
export interface FileIssue {
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  readonly column: number;
  /** The field, such as `rules.0.verdict`; empty for the whole document. */
  readonly path: string;
  readonly message: string;
}

/** The document of a valid file, or its errors. */
export type ReadFile =
  | { readonly document: NamedDocument; readonly issues: readonly [] }
  | { readonly document: null; readonly issues: readonly FileIssue[] };

const ISSUES_MAX = 50;
/** The replacement character, which a decoder puts in place of invalid UTF-8. */
const REPLACEMENT = "\ufffd";
/** A version is one value of the store, of 64 KiB at most, with the path and origin of its file. */
const STORED_BYTES_MAX = 60 * 1024;

/** Reads a policy file and runs its tests. JSON is read as YAML, of which it is a subset. Never throws. */
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
  // A rule with a replaced character would match nothing, and nobody would notice.
  const lost = text.indexOf(REPLACEMENT);
  if (lost >= 0) {
    const before = text.slice(0, lost).split("\n");
    const message = "Invalid UTF-8: save the file as UTF-8.";
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
    return failed([{
      ...place(0),
      path: "",
      message: "cannot be read: the document is nested too deeply",
    }]);
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
      message: "is missing, and the file's name is not a valid policy name",
    }]);
  }
  const storedBytes = serialize(document).length;
  if (storedBytes > STORED_BYTES_MAX) {
    const message =
      `takes ${storedBytes} bytes in the store, but at most ${STORED_BYTES_MAX} are allowed. A ` +
      "text with a character beyond Latin-1 takes two bytes per character.";
    return failed([{ ...place(0), path: "", message }]);
  }
  const { tests = [], agents } = document;
  const policy = mergePolicies([document], null).policy ?? { rules: [] };
  const broken = await failedTests(policy, tests, nextTurn, agents?.labels);
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

/** YAML errors, and YAML features that a policy may not use. */
function syntaxIssues(parsed: Document): Wrong[] {
  const wrong: Wrong[] = [...parsed.errors, ...parsed.warnings].map(({ code, message, pos }) => ({
    at: pos[0],
    message: code === "MULTIPLE_DOCS" ? "A file must hold exactly one policy." : message,
  }));
  // YAML 1.1 reads `no` as false and has merge keys.
  const version = parsed.directives?.yaml.version ?? "1.2";
  if (version !== "1.2") {
    wrong.push({
      at: 0,
      message: `A policy must be YAML 1.2; remove the directive for ${version}.`,
    });
  }
  // Aliases hide text from reviewers, and a few of them can expand to megabytes.
  visit(parsed, {
    Alias(_, node) {
      wrong.push({
        at: node.range?.[0] ?? 0,
        message: "Aliases are not allowed: write the value out.",
      });
    },
    Map(_, map) {
      wrong.push(...wrongKeys(map));
    },
  });
  return wrong;
}

/** Invalid and repeated keys. The library's own check for repeated keys is quadratic, so it is off. */
function wrongKeys({ items }: YAMLMap): Wrong[] {
  const seen = new Set<string>();
  return items.flatMap(({ key }) => {
    const name = String(key);
    const isRepeated = seen.has(name);
    seen.add(name);
    const at = isNode(key) ? key.range?.[0] ?? 0 : 0;
    // The library would convert it to a text and print a warning that quotes the file.
    if (!isScalar(key)) return [{ at, message: "A key must be a string, not a list or a map." }];
    // A label of this name would get lost, and the policy would apply to every agent.
    if (name === "__proto__") return [{ at, message: "The key __proto__ is not allowed." }];
    return isRepeated ? [{ at, message: `The key ${name} is repeated.` }] : [];
  });
}

interface Issue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
  /** True when the name of the field is wrong, not its value. */
  readonly ofKey?: true;
}

/** Splits an issue about unknown fields, so that each has its own position. */
function spread(issue: z.core.$ZodIssue): Issue[] {
  if (issue.code !== "unrecognized_keys") return [issue];
  return issue.keys.map((key) => ({
    path: [...issue.path, key],
    message: "is not a field of a policy",
    ofKey: true,
  }));
}

/** The offset of a part of the document, or of the nearest part around it that exists. */
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

/** The file's name without folders and extension, converted to a policy name. */
function nameOf(file: string): string {
  const last = file.split("/").at(-1) ?? "";
  const name = last.replace(/\.[^.]+$/, "").toLowerCase().replaceAll(/[^a-z0-9_.-]/g, "-");
  return name.replace(/^[^a-z0-9]+/, "").slice(0, 64);
}
