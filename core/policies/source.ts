import type { Tenant } from "../../kv/store/collection.ts";
import type { RepositoryRecord } from "../../kv/records/gitops.ts";
import type { Context } from "../context/context.ts";
import type { Source } from "./git/fetch.ts";
import { basicAuth } from "../codec/codec.ts";

/** Finds credentials that the organization's integrations lend for a Git host. */
export interface RepositoryCredentials {
  /** Null when no integration has working credentials. A `quiet` look-up does not record the use. */
  find(
    tenant: Tenant,
    host: string,
    options: { readonly quiet: boolean },
  ): Promise<{ readonly username: string; readonly password: string } | null>;
}

/** The parts of the relay that a fetch uses. */
export interface FetchParts extends Pick<Context, "ports" | "sealer"> {
  readonly repositoryCredentials: RepositoryCredentials;
}

/** Which files of a repository to fetch. */
export interface FetchOptions {
  readonly branch: string;
  readonly path: string;
  /** True for a fetch that must leave no trace in the store. */
  readonly quiet?: boolean;
}

/** The address and credentials for a fetch: the repository's own, or else those of an integration. */
export async function sourceOf(
  { sealer, repositoryCredentials }: FetchParts,
  tenant: Tenant,
  repository: RepositoryRecord,
  { branch, path, quiet = false }: FetchOptions,
): Promise<Source> {
  const { id, url, sealed_authorization: sealed } = repository;
  const authorization = sealed === null
    ? await lentAuthorization(repositoryCredentials, tenant, url, quiet)
    : sealer.open(sealed, id);
  return { organization: tenant.org, url, branch, path, authorization };
}

/** The credentials of an integration for exactly this host, and never over plain HTTP. */
async function lentAuthorization(
  credentials: RepositoryCredentials,
  tenant: Tenant,
  url: string,
  quiet: boolean,
) {
  const { protocol, host } = new URL(url);
  // Integrations exist only in the live space, so the test space must not read with their credentials.
  if (protocol !== "https:" || tenant.space !== "live") return null;
  const lent = await credentials.find(tenant, host, { quiet });
  return lent && basicAuth(lent.username, lent.password);
}
