import { type Static, Type } from 'typebox'
import { fieldProblems, unknownSettings } from '../channels/fields.ts'
import { openAccount } from '../dispatch/account-book.ts'
import { ChannelName, JsonObject, Line, Nullable } from '../intake/body-fields.ts'
import { ACCOUNT_STATUSES, DEFAULT_BREAKER, type Pace, SLOWEST_PER_SECOND } from '../model/account.ts'
import type { Channel } from '../model/channel.ts'
import { formatDuration, parseDuration } from '../model/duration.ts'
import { type FieldError, isPillarboxError, PillarboxError } from '../model/errors.ts'
import { parseRetry, storedRetry } from '../model/retry.ts'
import { openAccountSecrets, sealAccountSecrets } from '../security/account-secrets.ts'
import { redact } from '../security/redact.ts'
import type { StoredAccount } from '../store/store.ts'
import { callerOf, TO_ADMINISTER, TO_READ, tenantOf } from './auth.ts'
import type { App, Context } from './context.ts'
import { ForOps, Id, idParameter, notFound, PageSchema, Paging, pageOf, Query, WarningSchema } from './schemas.ts'

/** WhatsApp's messaging tiers as paces: 60, 500, 2,000 and 3,000 messages a minute. */
const TIERS = {
  TIER_1: { perSecond: 1, burst: 1 },
  TIER_2: { perSecond: 8.3, burst: 9 },
  TIER_3: { perSecond: 33.3, burst: 34 },
  TIER_4: { perSecond: 50, burst: 50 },
  UNLIMITED: { perSecond: 100, burst: 100 },
} as const satisfies Record<string, Pace>
type Tier = keyof typeof TIERS

const PaceJson = Type.Object(
  {
    perSecond: Type.Optional(Type.Number({ minimum: SLOWEST_PER_SECOND, maximum: 100_000 })),
    burst: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })),
    tier: Type.Optional(Type.Enum(Object.keys(TIERS) as Tier[])),
  },
  { additionalProperties: false, description: 'Either perSecond (and burst), or a WhatsApp tier.' },
)
type PaceJson = Static<typeof PaceJson>

const BreakerJson = Type.Object(
  {
    failures: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
    resetAfter: Type.Optional(Type.String({ maxLength: 40, description: 'An ISO 8601 duration, such as PT30S.' })),
  },
  { additionalProperties: false },
)

/** The forms of a retry policy. Whether one makes sense is judged apart, to answer `invalid_retry`. */
const RetryPolicyJson = Type.Unsafe<unknown>({
  type: ['object', 'null'],
  description:
    '{maxAttempts, base, factor, cap, jitter}, {maxAttempts, fixed} or {delays}; delays are ISO 8601 durations.',
})

const Secrets = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  propertyNames: { pattern: '^[A-Za-z][A-Za-z0-9_]{0,63}$' },
  additionalProperties: { type: ['string', 'object', 'null'], maxLength: 16_384 },
  maxProperties: 20,
  description: 'Write-only. null removes one; a JSON object is kept as its text.',
})

const changeable = {
  name: Line(1, 100),
  settings: Type.Optional(JsonObject),
  secrets: Type.Optional(Secrets),
  pace: Type.Optional(Nullable(PaceJson)),
  retry: Type.Optional(RetryPolicyJson),
  onUnknown: Type.Optional(Type.Enum(['resend', 'hold'])),
  breaker: Type.Optional(Nullable(BreakerJson)),
  priority: Type.Optional(Type.Integer({ minimum: -1_000, maximum: 1_000, description: 'Lower goes first.' })),
}

const AccountBody = Type.Object(
  {
    channel: ChannelName,
    provider: Type.String({ pattern: '^[a-z0-9][a-z0-9-]{0,39}$' }),
    ...changeable,
    status: Type.Optional(Type.Enum(['active', 'suspended'])),
  },
  { additionalProperties: false },
)
type AccountBody = Static<typeof AccountBody>

const AccountChanges = Type.Object(
  { ...changeable, name: Type.Optional(changeable.name) },
  { additionalProperties: false, minProperties: 1 },
)
type AccountChanges = Static<typeof AccountChanges>

const AccountJson = Type.Object({
  id: Id,
  tenantId: Type.String(),
  channel: ChannelName,
  provider: Type.String(),
  name: Type.String(),
  settings: JsonObject,
  secrets: Type.Array(Type.String(), { description: 'The names of those that are set.' }),
  pace: Nullable(PaceJson),
  retry: Type.Unknown(),
  onUnknown: Type.String(),
  breaker: Type.Object({ failures: Type.Integer(), resetAfter: Type.String() }),
  priority: Type.Integer(),
  status: Type.Enum([...ACCOUNT_STATUSES]),
  statusReason: Nullable(Type.String()),
  warnings: Type.Array(WarningSchema),
  createdAt: Type.String({ format: 'date-time' }),
  updatedAt: Type.String({ format: 'date-time' }),
})

const VerificationJson = Type.Object({
  isGood: Type.Boolean(),
  detail: Type.String({ description: 'What the vendor said.' }),
})

/** How long the vendor may take to say whether it knows the credentials. */
const VERIFY_MS = 20_000

/** `/api/channel-accounts`: a tenant's credentials, pace and retry policy per provider. */
export function channelAccountRoutes(app: App, context: Context): void {
  const { store, ids, seal, registry, accounts, nudge, clock } = context

  app.route({
    method: 'POST',
    url: '/api/channel-accounts',
    config: { access: TO_ADMINISTER },
    schema: {
      tags: ['Accounts'],
      summary: 'Make an account',
      querystring: Query(ForOps),
      body: AccountBody,
      response: { 201: AccountJson },
    },
    async handler(request, reply) {
      const tenantId = await tenantOf(request, store)
      const { body } = request
      refuseUnknownProvider(body.channel, body.provider)
      const secrets = mergeSecrets({}, body.secrets)
      refuseWrongFields(body.channel, body.provider, body.settings ?? {}, Object.keys(secrets))
      const id = ids()
      const account: Omit<StoredAccount, 'createdAt' | 'updatedAt'> = {
        id,
        tenantId,
        channel: body.channel,
        provider: body.provider,
        ...replaceable(body),
        ...sealAccountSecrets(seal, { tenantId, id }, secrets),
        status: body.status ?? 'active',
        statusReason: body.status === 'suspended' ? `suspended by ${callerOf(request).actor}` : null,
      }
      if (!(await store.accounts.insert(account))) throw nameTaken()
      accounts.forget(tenantId)
      return reply.status(201).send(shown(await found(tenantId, id)))
    },
  })

  app.route({
    method: 'GET',
    url: '/api/channel-accounts',
    config: { access: TO_READ },
    schema: {
      tags: ['Accounts'],
      summary: 'List accounts, newest first',
      querystring: Query({
        channel: Type.Optional(ChannelName),
        provider: Type.Optional(Type.String({ maxLength: 40 })),
        status: Type.Optional(Type.Enum([...ACCOUNT_STATUSES])),
        ...ForOps,
        ...Paging,
      }),
      response: { 200: PageSchema(AccountJson) },
    },
    async handler(request) {
      const { channel, provider, status, limit, cursor } = request.query
      const all = await store.accounts.list(await tenantOf(request, store), channel)
      const wanted = all.filter(
        (account) =>
          (provider === undefined || account.provider === provider) &&
          (status === undefined || account.status === status),
      )
      const page = pageOf(wanted, { limit, ...(cursor !== undefined && { cursor }) })
      return { items: page.items.map(shown), nextCursor: page.nextCursor }
    },
  })

  app.route({
    method: 'GET',
    url: '/api/channel-accounts/:id',
    config: { access: TO_READ },
    schema: { tags: ['Accounts'], summary: 'One account', querystring: Query(ForOps), response: { 200: AccountJson } },
    async handler(request) {
      const id = idParameter(request)
      return shown(await found(await tenantOf(request, store), id))
    },
  })

  app.route({
    method: 'PATCH',
    url: '/api/channel-accounts/:id',
    config: { access: TO_ADMINISTER },
    schema: {
      tags: ['Accounts'],
      summary: 'Change what is named',
      description: 'New secrets or settings activate an account that was paused because the old ones were refused.',
      querystring: Query(ForOps),
      body: AccountChanges,
      response: { 200: AccountJson },
    },
    async handler(request) {
      const id = idParameter(request)
      const tenantId = await tenantOf(request, store)
      return change(tenantId, id, changesOf(request.body), request.body.secrets, callerOf(request).actor)
    },
  })

  app.route({
    method: 'PUT',
    url: '/api/channel-accounts/:id',
    config: { access: TO_ADMINISTER },
    schema: {
      tags: ['Accounts'],
      summary: 'Replace an account',
      description:
        'What is not given takes its default, except secrets, which stay. Channel and provider cannot change.',
      querystring: Query(ForOps),
      body: Type.Object(
        { channel: ChannelName, provider: Type.String(), ...changeable },
        { additionalProperties: false },
      ),
      response: { 200: AccountJson },
    },
    async handler(request) {
      const id = idParameter(request)
      const tenantId = await tenantOf(request, store)
      const { channel, provider, secrets } = request.body
      const current = await found(tenantId, id)
      if (current.channel !== channel || current.provider !== provider)
        throw invalid([{ path: current.channel === channel ? '/provider' : '/channel', message: 'cannot be changed' }])
      return change(tenantId, id, replaceable(request.body), secrets, callerOf(request).actor)
    },
  })

  app.route({
    method: 'DELETE',
    url: '/api/channel-accounts/:id',
    config: { access: TO_ADMINISTER },
    schema: {
      tags: ['Accounts'],
      summary: 'Remove an account',
      description: '409 in_use while notifications still wait on it.',
      querystring: Query(ForOps),
      response: { 204: Type.Null() },
    },
    async handler(request, reply) {
      const id = idParameter(request)
      const tenantId = await tenantOf(request, store)
      const removed = await store.accounts.remove(tenantId, id).catch((error: unknown) => {
        if (!isPillarboxError(error, 'already_exists')) throw error
        throw new PillarboxError('in_use', 'Notifications still wait on this account.', { cause: error })
      })
      if (!removed) throw notFound()
      accounts.forget(tenantId)
      return reply.status(204).send(null)
    },
  })

  for (const { verb, status, summary } of [
    { verb: 'suspend', status: 'suspended', summary: 'Stop sending through an account' },
    { verb: 'activate', status: 'active', summary: 'Let an account send again' },
  ] as const)
    app.route({
      method: 'POST',
      url: `/api/channel-accounts/:id/${verb}`,
      config: { access: TO_ADMINISTER },
      schema: { tags: ['Accounts'], summary, querystring: Query(ForOps), response: { 200: AccountJson } },
      async handler(request) {
        const id = idParameter(request)
        const tenantId = await tenantOf(request, store)
        await found(tenantId, id)
        const { actor } = callerOf(request)
        await store.accounts.setStatus(id, status, status === 'active' ? null : `suspended by ${actor}`, actor)
        accounts.forget(tenantId)
        nudge('dispatch')
        return shown(await found(tenantId, id))
      },
    })

  app.route({
    method: 'POST',
    url: '/api/channel-accounts/:id/verify',
    config: { access: TO_ADMINISTER },
    schema: {
      tags: ['Accounts'],
      summary: 'Ask the vendor whether the credentials are good',
      description:
        'A real question to the vendor; nothing is sent to anybody. With good credentials an account that was paused because they were refused sends again.',
      querystring: Query(ForOps),
      response: { 200: VerificationJson },
    },
    async handler(request) {
      const id = idParameter(request)
      const tenantId = await tenantOf(request, store)
      const stored = await found(tenantId, id)
      const provider = registry(stored.channel, stored.provider)
      if (!provider) return { isGood: false, detail: `This version has no provider ${stored.provider}.` }
      if (!provider.verify) return { isGood: true, detail: 'There is nothing to verify.' }
      const account = openAccount(stored, openAccountSecrets(seal, stored))
      const [over, ended] = [new AbortController(), new AbortController()]
      void clock.sleep(VERIFY_MS, ended.signal).then(() => over.abort())
      const verified = await provider.verify(account, over.signal).finally(() => ended.abort())
      if (verified.isGood && stored.status === 'paused') {
        await store.accounts.setStatus(id, 'active', null, callerOf(request).actor, ['paused'])
        accounts.forget(tenantId)
        nudge('dispatch')
      }
      const detail = verified.isGood ? verified.detail : verified.error
      return { isGood: verified.isGood, detail: redact(detail, Object.values(account.secrets)) }
    },
  })

  async function change(
    tenantId: string,
    id: string,
    changes: Parameters<typeof store.accounts.update>[2],
    secrets: Record<string, unknown> | undefined,
    actor: string,
  ): Promise<Static<typeof AccountJson>> {
    const current = await found(tenantId, id)
    const merged = secrets === undefined ? null : mergeSecrets(openAccountSecrets(seal, current), secrets)
    const names = merged === null ? current.secretNames : Object.keys(merged)
    refuseWrongFields(current.channel, current.provider, changes.settings ?? current.settings, names)
    const updated = await store.accounts.update(tenantId, id, {
      ...changes,
      ...(merged !== null && sealAccountSecrets(seal, current, merged)),
    })
    if (!updated) throw notFound()
    // Paused means that the vendor refused what the account had; what it has now deserves a try.
    if ((secrets !== undefined || changes.settings !== undefined) && updated.status === 'paused')
      await store.accounts.setStatus(id, 'active', null, actor, ['paused'])
    accounts.forget(tenantId)
    nudge('dispatch')
    return shown(await found(tenantId, id))
  }

  function shown(account: StoredAccount): Static<typeof AccountJson> {
    const { fields } = registry(account.channel, account.provider) ?? {}
    return accountJson(account, fields ? unknownSettings(fields, account.settings) : [])
  }

  async function found(tenantId: string, id: string): Promise<StoredAccount> {
    const account = await store.accounts.find(tenantId, id)
    if (!account) throw notFound()
    return account
  }

  function refuseWrongFields(
    channel: Channel,
    provider: string,
    settings: Record<string, unknown>,
    secretNames: readonly string[],
  ): void {
    const { fields, checkSettings } = registry(channel, provider) ?? {}
    const errors = [
      ...(fields ? fieldProblems(fields, settings, secretNames) : []),
      ...below('/settings', checkSettings?.(settings) ?? []),
    ]
    if (errors.length) throw invalid(errors)
  }

  function refuseUnknownProvider(channel: Channel, provider: string): void {
    if (registry(channel, provider)) return
    const known = registry.names(channel)
    const message = known.length ? `must be one of ${known.join(', ')} for ${channel}` : `does not exist for ${channel}`
    throw invalid([{ path: '/provider', message }])
  }
}

/** Paths of the settings' own, below the body's. */
function below(pointer: string, errors: readonly FieldError[]): FieldError[] {
  return errors.map(({ path, message }) => ({
    path: path.startsWith(pointer) ? path : `${pointer}${path && !path.startsWith('/') ? '/' : ''}${path}`,
    message,
  }))
}

/** Everything that is not given takes its default. */
function replaceable(body: Omit<AccountBody, 'status'>) {
  const { name, settings = {}, pace = null, retry = null, onUnknown = 'resend', breaker = null, priority = 0 } = body
  return { name, settings, pace: paceOf(pace), retry: retryOf(retry), onUnknown, breaker: breakerOf(breaker), priority }
}

function changesOf(body: AccountChanges) {
  const { name, settings, pace, retry, onUnknown, breaker, priority } = body
  return {
    ...(name !== undefined && { name }),
    ...(settings !== undefined && { settings }),
    ...(pace !== undefined && { pace: paceOf(pace) }),
    ...(retry !== undefined && { retry: retryOf(retry) }),
    ...(onUnknown !== undefined && { onUnknown }),
    ...(breaker !== undefined && { breaker: breakerOf(breaker) }),
    ...(priority !== undefined && { priority }),
  }
}

/** A tier is kept beside the pace it stands for, so that it is shown as it was given. */
function paceOf(pace: PaceJson | null): (Pace & { tier?: Tier }) | null {
  if (pace === null) return null
  const { tier, perSecond, burst } = pace
  if (tier !== undefined) {
    if (perSecond !== undefined || burst !== undefined)
      throw invalid([{ path: '/pace', message: 'takes either a tier or perSecond and burst' }])
    return { ...TIERS[tier], tier }
  }
  if (perSecond === undefined) throw invalid([{ path: '/pace/perSecond', message: 'is required' }])
  return { perSecond, burst: burst ?? Math.max(1, Math.ceil(perSecond)) }
}

/** Kept as it was given; one that makes no sense is refused. */
function retryOf(retry: unknown): unknown {
  if (retry === null) return null
  const read = parseRetry(retry)
  if ('policy' in read) return retry
  const errors = read.problems.map(({ path, message }) => ({ path: path ? `/retry/${path}` : '/retry', message }))
  throw new PillarboxError('invalid_retry', `${errors[0]?.path} ${errors[0]?.message}.`, { errors })
}

function breakerOf(breaker: Static<typeof BreakerJson> | null): StoredAccount['breaker'] {
  const { failures = DEFAULT_BREAKER.failures, resetAfter } = breaker ?? {}
  const resetAfterMs = resetAfter === undefined ? DEFAULT_BREAKER.resetAfterMs : parseDuration(resetAfter)
  if (resetAfterMs === null || resetAfterMs < 1_000 || resetAfterMs > 86_400_000)
    throw invalid([{ path: '/breaker/resetAfter', message: 'must be a duration between PT1S and P1D' }])
  return { failures, resetAfterMs }
}

function mergeSecrets(current: Record<string, string>, given: Record<string, unknown> = {}): Record<string, string> {
  const merged = { ...current }
  for (const [name, value] of Object.entries(given)) {
    if (value === null) delete merged[name]
    else merged[name] = typeof value === 'string' ? value : JSON.stringify(value)
  }
  return merged
}

function accountJson(account: StoredAccount, unknown: readonly string[]): Static<typeof AccountJson> {
  const { warning } = storedRetry(account.retry)
  const pace: PaceJson | null = account.pace
  return {
    id: account.id,
    tenantId: account.tenantId,
    channel: account.channel,
    provider: account.provider,
    name: account.name,
    settings: account.settings,
    secrets: account.secretNames,
    pace: pace?.tier === undefined ? pace : { tier: pace.tier },
    retry: account.retry ?? DEFAULT_RETRY_JSON,
    onUnknown: account.onUnknown,
    breaker: { failures: account.breaker.failures, resetAfter: formatDuration(account.breaker.resetAfterMs) },
    priority: account.priority,
    status: account.status,
    statusReason: account.statusReason,
    warnings: [
      ...(warning === undefined ? [] : [{ code: 'retry_clamped', message: warning }]),
      ...unknown.map((key) => ({
        code: 'unknown_setting',
        key,
        message: `${account.provider} knows no setting "${key}".`,
      })),
    ],
    createdAt: new Date(account.createdAt).toISOString(),
    updatedAt: new Date(account.updatedAt).toISOString(),
  }
}

const DEFAULT_RETRY_JSON = { maxAttempts: 5, base: 'PT5S', factor: 2, cap: 'PT5M', jitter: 0.3 }

function invalid(errors: FieldError[]): PillarboxError {
  const [first] = errors
  return new PillarboxError('invalid_body', `${first?.path} ${first?.message.replace(/\.$/, '')}.`, { errors })
}

function nameTaken(): PillarboxError {
  return new PillarboxError('already_exists', 'Another account of this channel has that name.')
}
