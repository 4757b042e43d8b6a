import { type Static, Type } from 'typebox'
import { openAccount } from '../dispatch/account-book.ts'
import type { LaneView } from '../dispatch/lane-store.ts'
import { ChannelName, JsonObject, Line, Nullable } from '../intake/body-fields.ts'
import type { StoredAccount } from '../model/account.ts'
import { ACCOUNT_STATUSES, DEFAULT_BREAKER } from '../model/account.ts'
import type { Channel } from '../model/channel.ts'
import { formatDuration, parseDuration } from '../model/duration.ts'
import { isPillarboxError, PillarboxError } from '../model/errors.ts'
import { parseRetry, storedRetry } from '../model/retry.ts'
import { openAccountSecrets, sealAccountSecrets } from '../security/account-secrets.ts'
import { makeToken } from '../security/keys.ts'
import { redact } from '../security/redact.ts'
import { createAccountChecks } from './account-checks.ts'
import { PaceJson, paceOf, shownPace } from './account-pace.ts'
import { type Caller, callerOf, TO_ADMINISTER, TO_READ, tenantOf } from './auth.ts'
import type { App, Context } from './context.ts'
import { settingsSeenBy } from './masking.ts'
import {
  ForOps,
  Id,
  idParameter,
  invalidBody,
  notFound,
  PATTERNS,
  PageSchema,
  Paging,
  pageOf,
  Query,
  WarningSchema,
} from './schemas.ts'
import { webhookPath } from './webhooks.ts'

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
  propertyNames: { pattern: PATTERNS.settingName },
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
  onUndeliverable: Type.Optional(
    Type.Enum(['fail', 'park'], {
      description: 'What becomes of a notification whose address the vendor finds undeliverable. Kept in the settings.',
    }),
  ),
  breaker: Type.Optional(Nullable(BreakerJson)),
  priority: Type.Optional(Type.Integer({ minimum: -1_000, maximum: 1_000, description: 'Lower goes first.' })),
}

const AccountBody = Type.Object(
  {
    channel: ChannelName,
    provider: Type.String({ pattern: PATTERNS.provider }),
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

const LaneJson = Type.Object(
  {
    breaker: Type.Enum(['closed', 'open', 'half_open'], {
      description:
        'open: it has failed in a row, and nothing is sent until the hold ends; half_open: one call tries it.',
    }),
    heldUntil: Nullable(
      Type.String({ format: 'date-time', description: 'Nothing is sent before; null: it is not held.' }),
    ),
    holdReason: Nullable(Type.String()),
  },
  { description: 'How sending through it goes at present, over all workers.' },
)

const AccountJson = Type.Object({
  id: Id,
  tenantId: Type.String(),
  channel: ChannelName,
  provider: Type.String(),
  name: Type.String(),
  settings: Type.Unsafe<Record<string, unknown>>({
    ...JsonObject,
    description: 'Whoever cannot change them sees only the host of a URL in them.',
  }),
  secrets: Type.Array(Type.String(), { description: 'The names of those that are set.' }),
  pace: Nullable(PaceJson),
  retry: Type.Unknown(),
  onUnknown: Type.String(),
  onUndeliverable: Type.Enum(['fail', 'park']),
  breaker: Type.Object({ failures: Type.Integer(), resetAfter: Type.String() }),
  priority: Type.Integer(),
  status: Type.Enum([...ACCOUNT_STATUSES]),
  statusReason: Nullable(Type.String()),
  lane: LaneJson,
  webhookUrl: Nullable(
    Type.String({
      description:
        'Where the vendor sends its receipts to. Null where it sends none, and where the address holds a token and the key is no admin’s.',
    }),
  ),
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
  const { store, ids, seal, registry, accounts, nudge, clock, config, receivers, receiptSources } = context
  const checks = createAccountChecks(context)

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
      checks.refuseUnknownProvider(body.channel, body.provider)
      const secrets = withToken(body.channel, body.provider, mergeSecrets({}, body.secrets))
      const settings = settingsOf(body)
      checks.refuseWrongFields(body, { settings, newSecrets: secrets, secretNames: Object.keys(secrets) })
      const id = ids()
      const account: Omit<StoredAccount, 'createdAt' | 'updatedAt'> = {
        id,
        tenantId,
        channel: body.channel,
        provider: body.provider,
        ...replaceable(body, checks.isTiered(body)),
        ...sealAccountSecrets(seal, { tenantId, id }, secrets),
        status: body.status ?? 'active',
        statusReason: body.status === 'suspended' ? `suspended by ${callerOf(request).actor}` : null,
      }
      if (!(await store.accounts.insert(account))) throw nameTaken()
      forget(tenantId)
      return reply.status(201).send(await saved(await found(tenantId, id), callerOf(request)))
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
      const tenantId = await tenantOf(request, store)
      const all = await store.accounts.list(tenantId, channel)
      const wanted = all.filter(
        (account) =>
          (provider === undefined || account.provider === provider) &&
          (status === undefined || account.status === status),
      )
      const page = pageOf(wanted, { limit, ...(cursor !== undefined && { cursor }) })
      const caller = callerOf(request)
      const lanes = await lanesOf(tenantId)
      return { items: page.items.map((account) => shown(account, caller, lanes)), nextCursor: page.nextCursor }
    },
  })

  app.route({
    method: 'GET',
    url: '/api/channel-accounts/:id',
    config: { access: TO_READ },
    schema: { tags: ['Accounts'], summary: 'One account', querystring: Query(ForOps), response: { 200: AccountJson } },
    async handler(request) {
      const id = idParameter(request)
      const tenantId = await tenantOf(request, store)
      return shown(await found(tenantId, id), callerOf(request), await lanesOf(tenantId))
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
      const current = await found(tenantId, id)
      const changes = changesOf(request.body, current, checks.isTiered(current))
      return change(current, changes, request.body.secrets, callerOf(request))
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
        throw invalidBody([
          { path: current.channel === channel ? '/provider' : '/channel', message: 'cannot be changed' },
        ])
      const changes = replaceable(request.body, checks.isTiered(current))
      return change(current, changes, secrets, callerOf(request))
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
      forget(tenantId)
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
        const caller = callerOf(request)
        const { actor } = caller
        await store.accounts.setStatus(id, status, status === 'active' ? null : `suspended by ${actor}`, actor)
        forget(tenantId)
        nudge('dispatch')
        return shown(await found(tenantId, id), caller, await lanesOf(tenantId))
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
        forget(tenantId)
        nudge('dispatch')
      }
      const detail = verified.isGood ? verified.detail : verified.error
      return { isGood: verified.isGood, detail: redact(detail, Object.values(account.secrets)) }
    },
  })

  async function change(
    current: StoredAccount,
    changes: Parameters<typeof store.accounts.update>[2],
    secrets: Record<string, unknown> | undefined,
    caller: Caller,
  ): Promise<Static<typeof AccountJson>> {
    const { tenantId, id } = current
    const merged =
      secrets === undefined
        ? null
        : withToken(current.channel, current.provider, mergeSecrets(openAccountSecrets(seal, current), secrets))
    // What was saved under older rules must not keep anybody from changing something else.
    if (changes.settings !== undefined || merged !== null)
      checks.refuseWrongFields(current, {
        settings: changes.settings ?? current.settings,
        newSecrets: mergeSecrets({}, secrets),
        secretNames: merged === null ? current.secretNames : Object.keys(merged),
      })
    const updated =
      merged === null
        ? await store.accounts.update(tenantId, id, changes)
        : await store.accounts.update(
            tenantId,
            id,
            { ...changes, ...sealAccountSecrets(seal, current, merged) },
            current,
          )
    if (!updated) {
      // Gone, or somebody else has changed its secrets meanwhile: what they did is not to be undone.
      const { sealedSecrets } = await found(tenantId, id)
      if (merged === null || sealedSecrets === current.sealedSecrets) throw notFound()
      return change(await found(tenantId, id), changes, secrets, caller)
    }
    // Paused means that the vendor refused what the account had; what it has now deserves a try.
    if ((secrets !== undefined || changes.settings !== undefined) && updated.status === 'paused')
      await store.accounts.setStatus(id, 'active', null, caller.actor, ['paused'])
    forget(tenantId)
    nudge('dispatch')
    return await saved(await found(tenantId, id), caller)
  }

  async function lanesOf(tenantId: string): Promise<ReadonlyMap<string, LaneView>> {
    return new Map((await store.lanes.list(tenantId)).map((lane) => [lane.laneId, lane]))
  }

  function shown(
    account: StoredAccount,
    caller: Caller,
    lanes: ReadonlyMap<string, LaneView>,
  ): Static<typeof AccountJson> {
    const { breaker = 'closed', heldForMs = 0, holdReason = null } = lanes.get(account.id) ?? {}
    const isHeld = heldForMs > 0
    const heldUntil = isHeld ? new Date(clock.now() + heldForMs).toISOString() : null
    const settings = settingsSeenBy(caller, account.settings)
    return accountJson(
      { ...account, settings },
      {
        lane: { breaker, heldUntil, holdReason: isHeld ? holdReason : null },
        warnings: checks.warnings(account),
        webhookUrl: webhookUrl(account, caller),
      },
    )
  }

  /** The answer to a save, with what whoever saves should know at once. */
  async function saved(account: StoredAccount, caller: Caller): Promise<Static<typeof AccountJson>> {
    const json = shown(account, caller, await lanesOf(account.tenantId))
    return { ...json, warnings: [...json.warnings, ...(await checks.warningsOfSave(account))] }
  }

  function webhookUrl(account: StoredAccount, { key }: Caller): string | null {
    const source = [...receiptSources.values()].find(({ providers }) => providers.includes(account.provider))
    if (!source) return null
    const base = config.publicUrl ?? (app.server.listening ? app.listeningOrigin : 'http://127.0.0.1')
    const url = `${base}${webhookPath(source, account.tenantId)}`
    // Whoever signs what it sends needs no token in its address.
    const hasToken = account.secretNames.includes('webhookToken') && !account.secretNames.includes('webhookSecret')
    if (!hasToken) return url
    if (!TO_ADMINISTER.some((role) => role === key.role)) return null
    try {
      const token = openAccountSecrets(seal, account)['webhookToken'] ?? ''
      return `${url}?${new URLSearchParams({ token }).toString()}`
    } catch {
      return null
    }
  }

  /** Vendors that sign nothing get an address that nobody can guess. A token that is taken away is replaced by another. */
  function withToken(channel: Channel, provider: string, secrets: Record<string, string>): Record<string, string> {
    const { fields } = registry(channel, provider) ?? {}
    const isMissing = fields && Object.hasOwn(fields.secrets, 'webhookToken') && !secrets['webhookToken']
    return isMissing ? { ...secrets, webhookToken: makeToken() } : secrets
  }

  /** So that what this process remembers of the tenant's accounts is read anew. */
  function forget(tenantId: string): void {
    accounts.forget(tenantId)
    receivers.forget(tenantId)
  }

  async function found(tenantId: string, id: string): Promise<StoredAccount> {
    const account = await store.accounts.find(tenantId, id)
    if (!account) throw notFound()
    return account
  }
}

/** Everything that is not given takes its default. */
function replaceable(body: Omit<AccountBody, 'status'>, isTiered: boolean) {
  const { name, pace = null, retry = null, onUnknown = 'resend', breaker = null, priority = 0 } = body
  const settings = settingsOf(body)
  return {
    name,
    settings,
    pace: paceOf({ given: pace, settings, isTiered }),
    retry: retryOf(retry),
    onUnknown,
    breaker: breakerOf(breaker),
    priority,
  }
}

function changesOf(body: AccountChanges, current: StoredAccount, isTiered: boolean) {
  const { name, pace, retry, onUnknown, breaker, priority } = body
  const hasSettings = body.settings !== undefined || body.onUndeliverable !== undefined
  const settings = hasSettings ? settingsOf(body, current.settings) : undefined
  return {
    ...(name !== undefined && { name }),
    ...(settings !== undefined && { settings }),
    ...((pace !== undefined || settings !== undefined) && {
      pace: paceOf({
        given: pace,
        settings: settings ?? current.settings,
        isTiered,
        current: current.pace,
      }),
    }),
    ...(retry !== undefined && { retry: retryOf(retry) }),
    ...(onUnknown !== undefined && { onUnknown }),
    ...(breaker !== undefined && { breaker: breakerOf(breaker) }),
    ...(priority !== undefined && { priority }),
  }
}

/**
 * The settings to keep, with `onUndeliverable` among them wherever it was given. It is the account's own policy, so other
 * settings that replace the current ones leave it as it is.
 */
function settingsOf(
  { settings, onUndeliverable }: Pick<AccountChanges, 'settings' | 'onUndeliverable'>,
  current: Record<string, unknown> = {},
): Record<string, unknown> {
  const given = settings ?? current
  if (onUndeliverable !== undefined && settings?.['onUndeliverable'] !== undefined)
    if (settings['onUndeliverable'] !== onUndeliverable)
      throw invalidBody([{ path: '/onUndeliverable', message: 'is not what settings.onUndeliverable says' }])
  const kept = onUndeliverable ?? given['onUndeliverable'] ?? current['onUndeliverable']
  return kept === undefined ? given : { ...given, onUndeliverable: kept }
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
    throw invalidBody([{ path: '/breaker/resetAfter', message: 'must be a duration between PT1S and P1D' }])
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

function accountJson(
  account: StoredAccount,
  { lane, webhookUrl, warnings }: Pick<Static<typeof AccountJson>, 'lane' | 'webhookUrl' | 'warnings'>,
): Static<typeof AccountJson> {
  const { warning } = storedRetry(account.retry)
  return {
    id: account.id,
    tenantId: account.tenantId,
    channel: account.channel,
    provider: account.provider,
    name: account.name,
    settings: account.settings,
    secrets: account.secretNames,
    pace: shownPace(account.pace),
    retry: account.retry ?? DEFAULT_RETRY_JSON,
    onUnknown: account.onUnknown,
    onUndeliverable: account.settings['onUndeliverable'] === 'fail' ? 'fail' : 'park',
    breaker: { failures: account.breaker.failures, resetAfter: formatDuration(account.breaker.resetAfterMs) },
    priority: account.priority,
    status: account.status,
    statusReason: account.statusReason,
    lane,
    webhookUrl,
    warnings: [...(warning === undefined ? [] : [{ code: 'retry_clamped', message: warning }]), ...warnings],
    createdAt: new Date(account.createdAt).toISOString(),
    updatedAt: new Date(account.updatedAt).toISOString(),
  }
}

const DEFAULT_RETRY_JSON = { maxAttempts: 5, base: 'PT5S', factor: 2, cap: 'PT5M', jitter: 0.3 }

function nameTaken(): PillarboxError {
  return new PillarboxError('already_exists', 'Another account of this channel has that name.')
}
