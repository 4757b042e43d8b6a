import type { FastifyContextConfig, FastifySchemaCompiler } from 'fastify'
import type { TObject, TSchema } from 'typebox'
import type { Access, TenantScope } from './auth.ts'
import { Closed, ForOps, type Properties } from './schemas.ts'

interface OperationSchema {
  description?: string
  /** Parameters of the query, beside `tenantId`. */
  query?: Properties
  /** The whole query, where parameters alone cannot say it. */
  querystring?: TSchema
  body?: TSchema
  response: object
}

type QueryOf<S> = S extends { querystring: infer Whole extends TSchema }
  ? Whole
  : TObject<(S extends { query: infer Named extends Properties } ? Named : unknown) & typeof ForOps>

interface OperationOptions {
  bodyLimit?: number
  validatorCompiler?: FastifySchemaCompiler<TSchema>
  config?: FastifyContextConfig
}

/** Makes the options of a resource's routes: who may use one, what the document says of it, what it takes and answers. */
export function operationsOf(tag: string, tenant: TenantScope = 'one', shared: FastifyContextConfig = {}) {
  return <const S extends OperationSchema>(
    access: Access,
    summary: string,
    { query, ...schema }: S,
    { config, ...options }: OperationOptions = {},
  ) => {
    const parameters = { ...query, ...((tenant === 'one' || tenant === 'any') && ForOps) }
    const querystring = Object.keys(parameters).length > 0 ? { querystring: Closed(parameters) } : {}
    return {
      ...options,
      config: { access, tenant, ...shared, ...config },
      schema: { tags: [tag], summary, ...querystring, ...schema } as unknown as Omit<S, 'query' | 'querystring'> & {
        querystring: QueryOf<S>
      },
    }
  }
}
