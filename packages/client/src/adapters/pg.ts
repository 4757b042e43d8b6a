import type { Transaction } from '../transaction.ts'

/** What is needed of node-postgres: a `Client`, or the client a `Pool` lent out. */
export interface PgClient {
  query(text: string, values: unknown[]): Promise<unknown>
  query(statement: { name: string; text: string; values: unknown[] }): Promise<unknown>
  /** `I` idle, `T` in a transaction, `E` in a failed one; absent in older versions. */
  getTransactionStatus?(): string | null
}

export interface PgOptions {
  /**
   * Has PostgreSQL parse and plan each statement once per connection, which saves it about a third of the work of a
   * `publish`. Leave it off behind a pooler that hands connections from transaction to transaction and does not know
   * named statements, such as PgBouncer before 1.21. Default: false.
   */
  prepare?: boolean
}

/** The transaction of a node-postgres client, between its `begin` and its `commit`. A pool is good for `nudge` only. */
export function fromPg(client: PgClient, { prepare = false }: PgOptions = {}): Transaction {
  return {
    engine: 'postgres',
    run: (text, parameters) =>
      prepare
        ? client.query({ name: statementName(text), text, values: [...parameters] })
        : client.query(text, [...parameters]),
    inTransaction: () => {
      if ('totalCount' in client) return false // only a Pool counts its clients
      const status = client.getTransactionStatus?.() ?? null
      return status === null ? undefined : status !== 'I'
    },
  }
}

const names = new Map<string, string>()

/** A name that stands for this text and no other, also where two versions of this package share a connection. */
function statementName(text: string): string {
  let name = names.get(text)
  if (name === undefined) {
    name = `pillarbox_${fnv1a(text).toString(16)}`
    names.set(text, name) // only ever our own few statements
  }
  return name
}

/** http://www.isthe.com/chongo/tech/comp/fnv/, 32 bits. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return hash >>> 0
}
