import { type Static, Type } from 'typebox'
import { CHANNELS, type Channel } from '../model/channel.ts'
import { type FieldError, PillarboxError } from '../model/errors.ts'
import type { NotificationStatus } from '../model/notification.ts'
import type { Clock, IdSource } from '../model/ports.ts'
import { type Address, addressOf } from '../model/recipient.ts'
import type { NewNotification, Store, StoredAccount, WakeTopic, Warning } from '../store/store.ts'
import type { AccountDirectory } from './accounts.ts'
import { addressProblems } from './address.ts'
import { ChannelName, EntityRef, Instant, instantMs, JsonObject, Line, Nullable, withoutNulls } from './body-fields.ts'

export const MAX_IDEMPOTENCY_KEY = 255

const idempotencyKey = Type.Optional(
  Nullable(Line(1, MAX_IDEMPOTENCY_KEY, 'Unique per tenant; a repeat is refused. Absent: the notification’s own id.')),
)

/** One notification, straight to the ledger. */
export const NotificationBody = Type.Object(
  {
    idempotencyKey,
    channel: ChannelName,
    to: Type.Object(
      {
        name: Type.Optional(Nullable(Line(0, 200))),
        email: Type.Optional(Nullable(Line(1, 254))),
        phone: Type.Optional(Nullable(Line(1, 40, 'E.164'))),
        deviceToken: Type.Optional(Nullable(Line(1, 4_096))),
        platform: Type.Optional(Nullable(Type.Enum(['fcm', 'wns']))),
        userId: Type.Optional(Nullable(Line(1, 200))),
        url: Type.Optional(Nullable(Line(1, 2_048))),
      },
      { additionalProperties: false, description: 'What the channel needs, and what its fallbacks need.' },
    ),
    subject: Type.Optional(Nullable(Line(0, 998))),
    body: Type.String({ minLength: 1, maxLength: 1_000_000 }),
    data: Type.Optional(Nullable(JsonObject)),
    entity: Type.Optional(Nullable(EntityRef)),
    dueAt: Type.Optional(Nullable(Instant('Not before this time.'))),
    expiresAt: Type.Optional(Nullable(Instant('Cancelled if not sent by then.'))),
    fallback: Type.Optional(Nullable(Type.Array(ChannelName, { maxItems: CHANNELS.length }))),
    correlationId: Type.Optional(Nullable(Line(1, 200))),
    executionId: Type.Optional(Nullable(Line(1, 200))),
    parentExecutionId: Type.Optional(Nullable(Line(1, 200))),
  },
  { additionalProperties: false, title: 'Notification' },
)
export type NotificationBody = Static<typeof NotificationBody>

/** The flat form of push senders, taken as it stands. */
export const PushBody = Type.Object(
  {
    idempotencyKey,
    targetPlatform: Type.Enum(['FCM', 'WNS']),
    deviceToken: Line(1, 4_096),
    title: Line(1, 998),
    body: Type.String({ minLength: 1, maxLength: 100_000 }),
    data: Type.Optional(Nullable(JsonObject)),
  },
  { additionalProperties: false, title: 'PushNotification' },
)
export type PushBody = Static<typeof PushBody>

/** Told by the fields that only the flat form has. */
export function isPushBody(body: unknown): body is PushBody {
  return (
    typeof body === 'object' && body !== null && ('targetPlatform' in body || 'deviceToken' in body || 'title' in body)
  )
}

export interface NotificationIntake {
  /**
   * Takes notifications that have the schema's form; answers in the given order. What is answered without a problem is
   * durable. One that cannot be taken is answered with a problem and spoils no other.
   */
  submit(
    caller: { tenantId: string; actor: string },
    bodies: readonly (NotificationBody | PushBody)[],
  ): Promise<NotificationAnswer[]>
}

export type NotificationAnswer =
  | { id: string; status: NotificationStatus; duplicate: boolean }
  | { problem: PillarboxError }

export function createNotificationIntake(deps: {
  store: Pick<Store, 'notifications'>
  accounts: AccountDirectory
  ids: IdSource
  clock: Clock
  nudge: (topic: WakeTopic) => void
}): NotificationIntake {
  const { store, accounts, ids, clock, nudge } = deps
  return {
    async submit(caller, bodies) {
      const answers: NotificationAnswer[] = []
      const accepted: { notification: NewNotification; index: number }[] = []
      for (const [index, given] of bodies.entries()) {
        const body = isPushBody(given) ? fromPush(given) : given
        const to: Address = withoutNulls(body.to)
        const problems = [...addressProblems(body.channel, to), ...bodyProblems(body)]
        if (problems.length) answers[index] = { problem: invalid(problems) }
        else accepted.push({ index, notification: await newNotification(caller, body, to) })
      }
      if (!accepted.length) return answers
      const written = await store.notifications.insert(accepted.map(({ notification }) => notification))
      let isDue = false
      for (const [i, { index, notification }] of accepted.entries()) {
        const row = written[i]
        if (!row) continue
        answers[index] = { ...row, status: notification.parked ? 'parked' : 'queued' }
        isDue ||= !row.duplicate && !notification.parked && (notification.dueAt ?? 0) <= clock.now()
      }
      if (isDue) nudge('dispatch')
      return answers
    },
  }

  async function newNotification(
    { tenantId, actor }: { tenantId: string; actor: string },
    body: NotificationBody,
    to: Address,
  ): Promise<NewNotification> {
    const chain = [body.channel, ...new Set(body.fallback ?? [])]
    const { channel, account, rest, warnings } = await route(tenantId, chain, to)
    const id = ids()
    return {
      id,
      tenantId,
      idempotencyKey: body.idempotencyKey ?? id,
      channel,
      accountId: account?.id ?? null,
      provider: account?.provider ?? null,
      to,
      content: { subject: body.subject ?? null, body: body.body, data: body.data ?? {} },
      eventId: null,
      eventType: null,
      scheduleId: null,
      entity: body.entity ?? null,
      templateId: null,
      templateVersion: null,
      locale: null,
      correlationId: body.correlationId ?? null,
      executionId: body.executionId ?? null,
      parentExecutionId: body.parentExecutionId ?? null,
      site: null,
      triggeredBy: actor,
      fallback: rest,
      fallbackOf: null,
      warnings,
      dueAt: instantMs(body.dueAt),
      expiresAt: instantMs(body.expiresAt),
      parked: account
        ? null
        : { reason: 'no_active_channels', error: `The tenant has no active account for ${channel}.` },
    }
  }

  /**
   * The first channel of the chain that has an active account and an address. A channel without an account is as good as
   * failed, so the next one is taken at once; where none has one, the notification waits, parked, on the channel asked for.
   */
  async function route(
    tenantId: string,
    chain: readonly Channel[],
    to: Address,
  ): Promise<{ channel: Channel; account: StoredAccount | null; rest: Channel[]; warnings: Warning[] }> {
    const [asked = 'email', ...fallback] = chain
    const warnings: Warning[] = fallback
      .filter((channel) => addressOf(channel, to) === null)
      .map((key) => ({
        code: 'no_fallback_address',
        key,
        message: `There is no address for the fallback channel ${key}.`,
      }))
    const reachable = chain.filter((channel) => addressOf(channel, to) !== null)
    for (const [i, channel] of reachable.entries()) {
      const account = await accounts.choose(tenantId, channel, to)
      if (!account) continue
      const skipped = reachable.slice(0, i).map((key) => ({
        code: 'channel_skipped',
        key,
        message: `The tenant has no active account for ${key}.`,
      }))
      return { channel, account, rest: reachable.slice(i + 1), warnings: [...skipped, ...warnings] }
    }
    return { channel: asked, account: null, rest: reachable.slice(1), warnings }
  }
}

function fromPush(body: PushBody): NotificationBody {
  return {
    idempotencyKey: body.idempotencyKey ?? null,
    channel: 'push',
    to: { deviceToken: body.deviceToken, platform: body.targetPlatform === 'FCM' ? 'fcm' : 'wns' },
    subject: body.title,
    body: body.body,
    data: body.data ?? {},
  }
}

function bodyProblems(body: NotificationBody): FieldError[] {
  const problems: FieldError[] = []
  const dueAt = instantMs(body.dueAt)
  const expiresAt = instantMs(body.expiresAt)
  if (expiresAt !== null && dueAt !== null && expiresAt <= dueAt)
    problems.push({ path: '/expiresAt', message: 'must be after dueAt' })
  if (body.fallback?.includes(body.channel))
    problems.push({ path: '/fallback', message: 'must not name the channel itself' })
  return problems
}

function invalid(errors: FieldError[]): PillarboxError {
  const [first] = errors
  return new PillarboxError('invalid_body', `${first?.path} ${first?.message}.`, { errors })
}
