import type { Channel } from '../event-rules.ts'
import { type Calls, type PageOptions, path } from './calls.ts'
import type { CallOptions } from './transport.ts'
import type { Suppression } from './wire.ts'

/** `/api/suppressions`. */
export interface Suppressions {
  /** Newest first. `address`: exactly; telephone numbers and emails however they are written. */
  list(
    filter?: { channel?: Channel; address?: string },
    options?: PageOptions & CallOptions,
  ): AsyncGenerator<Suppression, void, undefined>
  get(id: string, options?: CallOptions): Promise<Suppression>
  /** Suppresses an address by hand. One that is suppressed on the channel already is refused with 409 `already_exists`. */
  create(address: { channel: Channel; address: string }, options?: CallOptions): Promise<Suppression>
  /** The address is used again. What was stopped because of it stays parked: retry it. */
  lift(id: string, options?: CallOptions): Promise<void>
}

export function suppressionsOf(calls: Calls): Suppressions {
  return {
    list: (filter = {}, options = {}) => calls.all('/api/suppressions', { ...filter }, options),
    get: (id, options = {}) => calls.get(path`/api/suppressions/${id}`, {}, options),
    create: (address, options = {}) => calls.send('POST', '/api/suppressions', address, options),
    lift: async (id, options = {}) => {
      await calls.send('DELETE', path`/api/suppressions/${id}`, undefined, options)
    },
  }
}
