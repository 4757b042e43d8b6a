import { CALLS, type Client, messageOf, openClient, openHttpClient, preloadSdk } from '../clients.ts'
import type { Destination, Peer, Sending } from '../peer.ts'
import { range } from '../statistics.ts'
import { PROVIDERS } from '../vendor.ts'

/** A vendor's own client in a loop, with as many calls under way as the worker has. */
export const bare: Peer = loopOver(PROVIDERS, openClient)

/** The same over Node's HTTP client, for those whose client is our own way out. */
export const bareHttp: Peer = loopOver(['meta', 'fcm'], openHttpClient)

function loopOver(providers: Sending['providers'], open: (to: Destination) => Promise<Client>): Peer {
  const onlySends = async (): Promise<never> => {
    throw new Error('a bare loop has no store')
  }
  return {
    create: async () => {},
    settle: async () => {},
    seed: onlySends,
    producer: onlySends,
    consumer: onlySends,
    probe: async () => ({ pending: async () => false, close: async () => {} }),
    sending: {
      providers,
      preload: async () => {},
      async sender(_store, destination, count, _settings, finished) {
        await preloadSdk(destination.provider)
        const messages = range(0, count).map(messageOf)
        let running: Promise<unknown> = Promise.resolve()
        let client: Client | null = null
        return {
          async start() {
            const opened = await open(destination)
            client = opened
            const caller = async (): Promise<void> => {
              for (let next = messages.pop(); next; next = messages.pop()) {
                await opened.send(next)
                finished(1)
              }
            }
            running = Promise.all(range(0, CALLS).map(caller))
          },
          async stop() {
            await running
            client?.close()
          },
        }
      },
    },
  }
}
