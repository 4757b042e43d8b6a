import { addressProblems } from '../model/address.ts'
import { type FieldError, PillarboxError } from '../model/errors.ts'
import type { IdSource } from '../model/ports.ts'
import type { Address } from '../model/recipient.ts'
import type { Template } from '../model/template.ts'
import { regionOf, type Tenant } from '../model/tenant.ts'
import { type ComposeTools, compose, policyOf, throwUnlessRendered } from '../plan/compose.ts'
import { readPlanContext } from '../plan/context-book.ts'
import { requestMessage } from '../plan/message.ts'
import { noRecipient } from '../plan/recipients.ts'
import type { WordsDeps } from '../plan/request-words.ts'
import type { WakeTopic } from '../runtime/wake-store.ts'
import type { Store } from '../store/store.ts'
import type { TenantSnapshots } from '../tenant/snapshots.ts'
import { normalised } from './people.ts'

export interface TestSendDeps extends ComposeTools, WordsDeps {
  store: WordsDeps['store'] & Pick<Store, 'notifications'>
  sealing: ComposeTools['sealing'] & WordsDeps['sealing']
  snapshots: Pick<TenantSnapshots, 'choose'>
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
  const { store, snapshots, ids, nudge } = deps
  const { template, context, actor } = request
  const { channel, eventType } = template
  const tenantId = request.tenant.id
  const address = addressFor(request)
  const id = ids()
  const planContext = await readPlanContext(store, tenantId, eventType)
  const message = requestMessage(deps.sealing, { tenantId, context, locale: null }, planContext)
  const account = await snapshots.choose(tenantId, channel, address)
  const notification = await compose(deps, {
    id,
    key: `test:${id}`,
    recipient: { ...noRecipient, address },
    words: { kind: 'template', template, message, data: {} },
    channel,
    account,
    cause: { tenantId, triggeredBy: actor, eventType, policy: policyOf(planContext.eventType) },
  })
  throwUnlessRendered(notification, '/templateId')
  await store.templates.markUsed([template.id])
  await store.notifications.insertByHand([notification], { actor, action: 'test_send' })
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
