import { sesProvider } from '../../../packages/pillarbox/src/channels/email/ses.ts'
import { smtpProvider } from '../../../packages/pillarbox/src/channels/email/smtp.ts'
import { fcmProvider } from '../../../packages/pillarbox/src/channels/push/fcm.ts'
import { createRegistry } from '../../../packages/pillarbox/src/channels/registry.ts'
import { metaProvider } from '../../../packages/pillarbox/src/channels/whatsapp/meta.ts'
import type { Channel } from '../../../packages/pillarbox/src/model/channel.ts'
import type { NewNotification } from '../../../packages/pillarbox/src/model/notification.ts'
import { systemClock } from '../../../packages/pillarbox/src/runtime/system.ts'
import { createDial } from '../../../packages/pillarbox/src/security/dial.ts'
import { createOutbound } from '../../../packages/pillarbox/src/security/outbound.ts'
import type { Store } from '../../../packages/pillarbox/src/store/store.ts'
import { CALLS, preloadSdk, recipientOf } from '../clients.ts'
import type { Consumer, Destination, Sending, Settings } from '../peer.ts'
import { ACCESS, FROM, PHONE_NUMBER_ID, PROJECT, PROVIDERS, type ProviderName } from '../vendor.ts'
import { insertAccount, newId, preloadNotifications, workerWith } from './pillarbox-parts.ts'

const CHANNELS: Record<ProviderName, Channel> = { smtp: 'email', ses: 'email', meta: 'whatsapp', fcm: 'push' }

/** Dispatch through the real providers, on either store. */
export function sendingOn(open: (name: string) => Promise<Store>): Sending {
  return {
    providers: PROVIDERS,
    async preload(name, destination, count) {
      const store = await open(name)
      const { provider } = destination
      const [accountId, channel] = [newId(), CHANNELS[provider]]
      try {
        await insertAccount(store, accountId, channel, { provider, settings: settingsOf(destination) })
        await preloadNotifications(store, count, (i) => ({ channel, accountId, provider, to: addressOn(channel, i) }))
      } finally {
        await store.close()
      }
    },
    sender: async (name, destination, _count, settings, finished) =>
      senderOf(await open(name), destination, settings, finished),
  }
}

function addressOn(channel: Channel, i: number): NewNotification['to'] {
  const { name, email, phone, deviceToken } = recipientOf(i)
  if (channel === 'push') return { deviceToken, platform: 'fcm' }
  return channel === 'email' ? { name, email } : { phone }
}

async function senderOf(
  store: Store,
  destination: Destination,
  settings: Settings,
  finished: (count: number) => void,
): Promise<Consumer> {
  await preloadSdk(destination.provider)
  const outbound = createOutbound({ clock: systemClock, allowPrivate: true })
  const dial = createDial({ clock: systemClock, allowPrivate: true })
  const deps = { outbound, dial, clock: systemClock }
  const providers = [smtpProvider(deps), sesProvider(deps), metaProvider(deps), fcmProvider(deps)]
  const registry = createRegistry(providers)
  const secrets = secretsOf(destination)
  const { consumer } = workerWith({ store, registry, openSecrets: () => ({ ...secrets }) }, settings, finished)
  return {
    start: consumer.start,
    stop: async () => {
      await consumer.stop()
      for (const provider of providers) provider.close?.()
      outbound.close()
    },
  }
}

function settingsOf({ provider, address: { host, port, url } }: Destination): Record<string, unknown> {
  switch (provider) {
    case 'smtp':
      return { host, port, tls: 'none', fromAddress: FROM, maxConnections: CALLS }
    case 'ses':
      return { region: ACCESS.region, fromAddress: FROM, endpoint: url }
    case 'meta':
      return { phoneNumberId: PHONE_NUMBER_ID, endpoint: url }
    case 'fcm':
      return { projectId: PROJECT, endpoint: url }
  }
}

function secretsOf({ provider, address }: Destination): Record<string, string> {
  switch (provider) {
    case 'smtp':
      return {}
    case 'ses':
      return { accessKeyId: ACCESS.accessKeyId, secretAccessKey: ACCESS.secretAccessKey }
    case 'meta':
      return { accessToken: ACCESS.accessToken }
    case 'fcm':
      return { serviceAccount: address.serviceAccount ?? '' }
  }
}
