import type { Clock } from '../model/ports.ts'
import type { Provider } from './channel.ts'
import { acsProvider } from './email/acs.ts'
import { sesProvider } from './email/ses.ts'
import { smtpProvider } from './email/smtp.ts'
import { type InboxPort, inboxProvider } from './in_app/inbox.ts'
import type { Dial, Outbound } from './outbound.ts'
import { fcmProvider } from './push/fcm.ts'
import { wnsProvider } from './push/wns.ts'
import { awsSmsProvider } from './sms/aws-sms.ts'
import { msg91Provider } from './sms/msg91.ts'
import { snsProvider } from './sms/sns.ts'
import { webhookProvider } from './webhook/webhook.ts'
import { interaktProvider } from './whatsapp/interakt.ts'
import { metaProvider } from './whatsapp/meta.ts'

export interface ProviderDeps {
  outbound: Outbound
  dial: Dial
  clock: Clock
  inbox: InboxPort
}

/** Every provider that speaks to a real vendor. A new one is a file and a line here. */
export function allProviders(deps: ProviderDeps): Provider[] {
  return [
    metaProvider(deps),
    interaktProvider(deps),
    msg91Provider(deps),
    snsProvider(deps),
    awsSmsProvider(deps),
    smtpProvider(deps),
    sesProvider(deps),
    acsProvider(deps),
    fcmProvider(deps),
    wnsProvider(deps),
    inboxProvider(deps),
    webhookProvider(deps),
  ]
}
