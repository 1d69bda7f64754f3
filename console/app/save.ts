/** Saves content as a file of the viewer. */
export function saveAs(name: string, parts: readonly BlobPart[], type = "text/plain"): void {
  const url = URL.createObjectURL(new Blob([...parts], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // Some browsers read the file only after the click.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
