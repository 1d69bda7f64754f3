import { z } from "zod";

/**
 * People beside its owner who may hold a credential, by id; `*` for everybody. Records of earlier versions
 * name nobody.
 */
export const AlsoOf = z.array(z.string()).default([]);
