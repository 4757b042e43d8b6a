import type { AccountDirectory } from '../intake/accounts.ts'
import { addressProblems } from '../intake/address.ts'
import { render, type WordsDeps } from '../intake/words.ts'
import { type FieldError, PillarboxError } from '../model/errors.ts'
import type { IdSource } from '../model/ports.ts'
import type { Address } from '../model/recipient.ts'
import type { Template } from '../model/template.ts'
import { regionOf, type Tenant } from '../model/tenant.ts'
import type { WakeTopic } from '../runtime/wake-store.ts'
import type { Store } from '../store/store.ts'
import { normalised } from './people.ts'

export interface TestSendDeps extends WordsDeps {
  store: Pick<Store, 'notifications' | 'templates' | 'catalogue' | 'tenants'>
  accounts: AccountDirectory
  ids: IdSource
  nudge: (topic: WakeTopic) => void
}

/**
 * Sends a template to somebody, to see it arrive, whether it is active or not: an ordinary notification, told by its key
 * `test:…`. Answers its id. Secret fields of the context are treated like an event's.
 */
export async function sendTest(
  deps: TestSendDeps,
  request: { tenant: Tenant; template: Template; to: Address; context: Record<string, unknown>; actor: string },
): Promise<string> {
  const { store, accounts, ids, nudge } = deps
  const { tenant, template, context, actor } = request
  const { channel } = template
  const to = addressFor(request)
  const id = ids()
  const type = await store.catalogue.eventType(tenant.id, template.eventType)
  const said = render(
    { ...deps, tenantId: tenant.id, tenant, type },
    { channel, context, templateId: template.id },
    template,
    id,
    to,
  )
  const account = await accounts.choose(tenant.id, channel, to)
  await store.templates.markUsed([template.id])
  await store.notifications.insert([
    {
      ...said,
      id,
      tenantId: tenant.id,
      idempotencyKey: `test:${id}`,
      channel,
      accountId: account?.id ?? null,
      provider: account?.provider ?? null,
      to,
      contactId: null,
      conversationId: null,
      eventId: null,
      scheduleId: null,
      entity: null,
      correlationId: null,
      executionId: null,
      parentExecutionId: null,
      site: null,
      triggeredBy: actor,
      fallback: [],
      fallbackOf: null,
      dueAt: null,
      expiresAt: null,
      parked: account
        ? null
        : { reason: 'no_active_channels', error: `The tenant has no active account for ${channel}.` },
    },
  ])
  if (account) nudge('dispatch')
  return id
}

function addressFor({ tenant, template, to: given }: { tenant: Tenant; template: Template; to: Address }): Address {
  const problems: FieldError[] = []
  const to = normalised(given, { region: regionOf(tenant), at: '/to', problems })
  if (problems.length === 0) problems.push(...addressProblems(template.channel, to))
  const [first] = problems
  if (first) throw new PillarboxError('invalid_body', `${first.path} ${first.message}.`, { errors: problems })
  return to
}
