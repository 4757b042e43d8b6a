import type { Channel } from '../model/channel.ts'
import type { Provider, ProviderRegistry } from './channel.ts'

/** A registry that can also say what it holds, for error messages and the console. */
export interface Registry extends ProviderRegistry {
  /** The providers an account of this channel may name, in the order they were given. */
  names(channel: Channel): string[]
}

/** Finds providers by channel and name. Throws when two claim the same name on one channel: that is a bug in the list. */
export function createRegistry(providers: readonly Provider[]): Registry {
  const byChannel = new Map<Channel, Map<string, Provider>>()
  for (const provider of providers) {
    for (const channel of provider.channels) {
      const named = byChannel.get(channel) ?? new Map<string, Provider>()
      if (named.has(provider.name)) throw new Error(`two providers are called "${provider.name}" on channel ${channel}`)
      byChannel.set(channel, named.set(provider.name, provider))
    }
  }
  const find = (channel: Channel, name: string): Provider | null => byChannel.get(channel)?.get(name) ?? null
  return Object.assign(find, { names: (channel: Channel): string[] => [...(byChannel.get(channel)?.keys() ?? [])] })
}
