/** A group of things of which any number may be chosen. */
export interface Choices {
  readonly title: string;
  readonly options: readonly { readonly value: string; readonly about?: string | undefined }[];
}
