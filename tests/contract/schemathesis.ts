/** The version that is tested with. */
const VERSION = "4.32.5";
const PYTHON = "python3";
const CHECKS = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_headers_conformance",
  "response_schema_conformance",
  "negative_data_rejection",
  "positive_data_acceptance",
  "missing_required_header",
  "unsupported_method",
  "allow_header_conformance",
  "use_after_free",
  "ensure_resource_availability",
  "ignored_auth",
];
const PHASES = ["examples", "coverage", "fuzzing", "stateful"];

/** What one run is told. */
export interface Run {
  readonly url: string;
  /** As the relay serves it. */
  readonly document: string;
  readonly token: string;
  readonly folder: string;
  readonly seed: number;
  /** Requests of the fuzzing and the stateful phase for each operation. */
  readonly examples: number;
  readonly config: string;
  /** For the hooks, as JSON. */
  readonly setup: Readonly<Record<string, unknown>>;
}

/** What schemathesis reports, as far as it matters here. */
export interface Report {
  readonly complete: boolean;
  readonly running_time: number;
  readonly operations: { readonly total: number; readonly tested: number };
  readonly test_cases: { readonly generated: number };
  readonly failures: readonly {
    readonly type: string;
    readonly title: string;
    readonly count: number;
    readonly operations: readonly string[];
  }[];
  readonly errors: readonly unknown[];
  /** Answers to requests that the schemas allow, by operation and phase. */
  readonly valid_rates: Readonly<
    Record<string, Readonly<Record<string, { readonly accepted: number }>>>
  >;
}

/** What came of a run. */
export interface Outcome {
  readonly report: Report;
  /** How often each failure was explained, by operation and reason. */
  readonly explained: ReadonlyMap<string, number>;
  /** What it printed. */
  readonly said: string;
}

/** Whether Python is there, with what makes virtual environments. */
export function hasPython(): boolean {
  try {
    const args = ["-c", "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))"];
    return new Deno.Command(PYTHON, { args, stdout: "null", stderr: "null" }).outputSync().success;
  } catch {
    return false;
  }
}

/** The program, in a virtual environment that is made once for each version. */
export async function installSchemathesis(): Promise<string> {
  const cache = Deno.env.get("XDG_CACHE_HOME") ?? `${Deno.env.get("HOME") ?? "/tmp"}/.cache`;
  const folder = `${cache}/relay-contract/schemathesis-${VERSION}`;
  const program = `${folder}/bin/st`;
  if (await exists(program)) return program;
  await run(PYTHON, ["-m", "venv", folder]);
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
  await run(`${folder}/bin/python`, [...pip, `schemathesis==${VERSION}`]);
  return program;
}

/** Tests the document that a relay serves. */
export async function runSchemathesis(program: string, options: Run): Promise<Outcome> {
  const { url, document, token, folder, seed, examples, config, setup } = options;
  const report = `${folder}/report.json`, explained = `${folder}/explained`;
  await Deno.writeTextFile(`${folder}/schemathesis.toml`, config);
  await Deno.writeTextFile(`${folder}/openapi.json`, document);
  await Deno.writeTextFile(explained, "");
  const args = [
    "--config-file",
    `${folder}/schemathesis.toml`,
    "run",
    // From a file: schemathesis leaves out the operation that it reads a document from.
    `${folder}/openapi.json`,
    `--url=${url}`,
    `--header=Authorization: Bearer ${token}`,
    `--checks=${CHECKS.join(",")}`,
    `--phases=${PHASES.join(",")}`,
    `--max-examples=${examples}`,
    `--seed=${seed}`,
    "--continue-on-failure",
    "--no-shrink",
    "--no-color",
    "--workers=2",
    "--request-timeout=30",
    "--generation-database=none",
    "--suppress-health-check=all",
    "--report=json",
    `--report-json-path=${report}`,
  ];
  const { stdout } = await new Deno.Command(program, {
    args,
    cwd: folder,
    env: {
      SCHEMATHESIS_HOOKS: "hooks",
      PYTHONPATH: new URL(".", import.meta.url).pathname,
      PYTHONDONTWRITEBYTECODE: "1",
      CONTRACT_SETUP: JSON.stringify({ ...setup, seed, explained }),
    },
    stderr: "inherit",
  }).output();
  const said = new TextDecoder().decode(stdout);
  if (!await exists(report)) throw new Error(`schemathesis made no report:\n${said}`);
  return {
    report: JSON.parse(await Deno.readTextFile(report)),
    explained: count((await Deno.readTextFile(explained)).split("\n").filter(Boolean)),
    said,
  };
}

function count(lines: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const line of lines.toSorted()) {
    const name = (JSON.parse(line) as string[]).join(": ");
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

async function run(program: string, args: readonly string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, { args: [...args] }).output();
  if (!success) throw new Error(`${program} failed:\n${new TextDecoder().decode(stderr)}`);
}

const exists = (path: string): Promise<boolean> => Deno.stat(path).then(() => true, () => false);
