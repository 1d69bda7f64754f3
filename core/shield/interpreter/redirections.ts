import type { Redirection as RedirectionNode } from "unbash";
import { namedFile } from "../programs/bulk.ts";
import { type Flow, known, NOTHING, perhaps, type Redirection, textFlow } from "../model.ts";
import { expandParts, expandText, type Expansion } from "./expand.ts";
import { STDIN_PATHS } from "./inner.ts";
import { readFile, type Scope, writeFile } from "./scope.ts";

const UNDIRECTED: ReturnType<typeof expandRedirections> = { redirections: [], input: null };

/** Redirections with expanded targets, and the standard input that they give a command instead of `stdin`. */
export function expandRedirections(
  nodes: readonly RedirectionNode[],
  expansion: Expansion,
  scope: Scope,
  stdin: Flow | null,
): { readonly redirections: readonly Redirection[]; readonly input: Flow | null } {
  if (nodes.length === 0) return UNDIRECTED;
  const redirections: Redirection[] = [];
  let input: Flow | null = null;
  for (const node of nodes) {
    const fd = node.descriptor?.type === "FileDescriptor" ? node.descriptor.value : null;
    if (node.type === "HereDoc") {
      const { body } = node;
      const text = body.parts === undefined || node.delimiter?.quoted
        ? body.text
        : expandParts(body.parts, expansion);
      input = textFlow(expansion.optional ? perhaps(text) : text);
      keepDescriptor(fd, input, scope);
      continue;
    }
    const target = node.target === undefined ? "" : expandText(node.target, expansion);
    if (node.type === "HereString") {
      input = textFlow(`${expansion.optional ? perhaps(target) : target}\n`);
      keepDescriptor(fd, input, scope);
      continue;
    }
    redirections.push({ operator: node.operator, fd, target });
    if (node.operator === "<" || node.operator === "<>") {
      input = readInput(target, scope, stdin);
      keepDescriptor(fd, input, scope);
    }
    if (node.operator === "<&") input = readFile(scope, `/dev/fd/${target}`) ?? input;
  }
  return { redirections, input };
}

function readInput(path: string, scope: Scope, stdin: Flow | null): Flow {
  if (path === "/dev/null") return known("");
  if (STDIN_PATHS.has(path)) return stdin ?? NOTHING;
  return readFile(scope, path) ?? namedFile(path);
}

/** The input of a numbered descriptor is kept for `<&3` and `/dev/fd/3`. */
function keepDescriptor(fd: number | null, flow: Flow, scope: Scope): void {
  if (fd !== null && fd > 2) writeFile(scope, `/dev/fd/${fd}`, flow, false);
}
