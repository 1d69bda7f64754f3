import type { Exchange } from "./exchange.ts";
import { CODES, isObject, type Params, RpcError } from "./json_rpc.ts";

/** The `_meta` of the request. */
export const metaOf = ({ params }: Pick<Exchange, "params">): Params =>
  isObject(params._meta) ? params._meta : {};

/** A member of `params` that must be a string. @throws {RpcError} invalidParams */
export function textOf({ params }: Pick<Exchange, "params">, name: string): string {
  const value = params[name];
  if (typeof value === "string") return value;
  throw new RpcError(CODES.invalidParams, `\`params.${name}\` must be a string.`);
}

/** Refuses any cursor: lists have one page here. @throws {RpcError} invalidParams */
export function mustBeFirstPage({ params }: Pick<Exchange, "params">): void {
  if (params.cursor === undefined) return;
  throw new RpcError(CODES.invalidParams, "The cursor is invalid: this list has only one page.");
}

/** True when the client declared this capability. */
export const can = ({ capabilities }: Exchange, name: string): boolean =>
  isObject(capabilities[name]);

/** True when the client declared this extension of the protocol. */
export const canExtend = ({ capabilities }: Exchange, name: string): boolean =>
  isObject(capabilities.extensions) && isObject(capabilities.extensions[name]);

/** @throws {RpcError} missingCapability unless the client declared this extension */
export function mustExtend(exchange: Exchange, name: string): void {
  if (!canExtend(exchange, name)) throw missingCapability({ extensions: { [name]: {} } });
}

/** The error of a client that must declare these capabilities. */
export const missingCapability = (requiredCapabilities: Params): RpcError =>
  new RpcError(
    CODES.missingCapability,
    "The client did not declare a capability that this request needs.",
    { data: { requiredCapabilities }, status: 400 },
  );
