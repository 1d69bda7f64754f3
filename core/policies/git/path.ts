/** A path as Git writes it: without slashes at its ends, empty for the whole repository. */
export const normalPath = (path: string): string =>
  path.split("/").filter((part) => part !== "" && part !== ".").join("/");
