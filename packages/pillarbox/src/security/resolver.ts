import { lookup as systemLookup } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import type { OutboundFailureCode } from '../channels/outbound.ts'
import { isPublicAddress } from './addresses.ts'

export interface ResolverDeps {
  /** Lets accounts aim at loopback and private addresses. */
  allowPrivate: boolean
  /** All addresses of a name. Default: the system's resolver. */
  lookup?: (hostname: string) => Promise<{ address: string; family: number }[]>
}

/** Finds the addresses of names, and refuses those that are not for us to dial. */
export interface Resolver {
  /** For sockets: the address that was checked is the address that is connected to. */
  readonly lookup: LookupFunction
  /** Sockets ask nobody about a host that is itself an address; throws `Failed` if it is refused. */
  checkLiteral(host: string): void
}

/** Why something could not be dialled or asked; never leaves this folder. */
export class Failed extends Error {
  override readonly name = 'Failed'
  readonly code: OutboundFailureCode

  constructor(code: OutboundFailureCode, message: string) {
    super(message)
    this.code = code
  }
}

export function createResolver(deps: ResolverDeps): Resolver {
  const { allowPrivate, lookup = (name) => systemLookup(name, { all: true }) } = deps

  async function resolve(hostname: string): Promise<{ address: string; family: number }[]> {
    const found = await lookup(hostname).catch((error: unknown) => {
      throw new Failed('dns_failed', `the name ${hostname} cannot be resolved (${codeOf(error) ?? 'no answer'})`)
    })
    if (found.length === 0) throw new Failed('dns_failed', `the name ${hostname} has no address`)
    refusePrivate(hostname, found)
    return found
  }

  function refusePrivate(hostname: string, found: readonly { address: string }[]): void {
    // The words reach whoever may name a host: where it leads would tell him how the network inside is laid out.
    if (!allowPrivate && found.some(({ address }) => !isPublicAddress(address)))
      throw new Failed(
        'address_refused',
        `${hostname} is not a public address; PILLARBOX_ALLOW_PRIVATE_ENDPOINTS=1 would allow it`,
      )
  }

  return {
    lookup: (hostname, options, callback) => {
      const answer = callback as (error: Error | null, address?: unknown, family?: number) => void
      resolve(hostname).then(
        (found) => (options.all ? answer(null, found) : answer(null, found[0]?.address, found[0]?.family)),
        (error: unknown) => answer(error instanceof Error ? error : new Error(String(error))),
      )
    },
    checkLiteral(host) {
      if (isIP(host)) refusePrivate(host, [{ address: host }])
    },
  }
}

export function codeOf(error: unknown): string | null {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : null
}
