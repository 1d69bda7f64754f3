import htm from "htm";
import { h, type VNode } from "preact";

/** Markup of a component. Values are text, never markup: nothing in the console turns a string into HTML. */
export const html = (htm as unknown as { bind(create: typeof h): typeof markup }).bind(h);

declare function markup(strings: TemplateStringsArray, ...values: unknown[]): VNode;
