/** True where docs/verify.py can run. */
export const PYTHON: boolean = ["python3", "openssl"].every((program) => {
  try {
    return new Deno.Command(program, { args: [program === "openssl" ? "version" : "--version"] })
      .outputSync().success;
  } catch {
    return false;
  }
});

/** The result of docs/verify.py: null for a valid export, else the row that it names. */
export async function python(file: string, key: string): Promise<number | null> {
  const args = ["docs/verify.py", file, key];
  const { success, stdout, stderr } = await new Deno.Command("python3", { args }).output();
  const said = new TextDecoder().decode(success ? stdout : stderr);
  const [, row] = /^INVALID: row (\d+)/.exec(said) ?? [];
  if (!success && row === undefined) throw new Error(said);
  return success ? null : Number(row);
}
