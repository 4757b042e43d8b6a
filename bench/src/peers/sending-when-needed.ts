import type { Store } from '../../../packages/pillarbox/src/store/store.ts'
import type { Sending } from '../peer.ts'
import { PROVIDERS } from '../vendor.ts'

/** The providers and their SDKs are loaded only by a process that sends through them. */
export function sendingOn(open: (name: string) => Promise<Store>): Sending {
  const load = async (): Promise<Sending> => (await import('./pillarbox-sending.ts')).sendingOn(open)
  return {
    providers: PROVIDERS,
    preload: async (...given) => (await load()).preload(...given),
    sender: async (...given) => (await load()).sender(...given),
  }
}
