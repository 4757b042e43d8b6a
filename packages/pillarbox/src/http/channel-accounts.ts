import { type Static, Type } from 'typebox'
import { onUnmappedOf } from '../channels/account-check.ts'
import { topicOf } from '../channels/aws.ts'
import type { LaneView } from '../dispatch/lane-store.ts'
import { ChannelName, JsonObject, Line, Nullable } from '../intake/body-fields.ts'
import { ACCOUNT_STATUSES, SLOWEST_PER_SECOND, type StoredAccount } from '../model/account.ts'
import { formatDuration } from '../model/duration.ts'
import { found } from '../model/errors.ts'
import { storedRetry } from '../model/retry.ts'
import { TIER_NAMES } from '../model/tiers.ts'
import { createAccountChecks } from '../operate/account-checks.ts'
import { shownPace } from '../operate/account-pace.ts'
import {
  type AccountDeps,
  changeAccount,
  connectAccount,
  makeAccount,
  removeAccount,
  replaceAccount,
  setAccountStatus,
  verifyAccount,
} from '../operate/accounts.ts'
import { openAccountSecrets } from '../security/account-secrets.ts'
import { type ApiCaller, callerOf, TO_ADMINISTER, TO_READ } from './auth.ts'
import type { App, Context } from './context.ts'
import { settingsSeenBy } from './masking.ts'
import { operationsOf } from './operation.ts'
import {
  Closed,
  Exactly,
  Id,
  idParameter,
  iso,
  OnChannel,
  PATTERNS,
  PageSchema,
  Paging,
  pageJson,
  pageOf,
  TextOrNull,
  Time,
  WarningSchema,
  withTimes,
} from './schemas.ts'
import { webhookPath } from './webhooks.ts'

const PaceJson = Closed(
  {
    perSecond: Type.Optional(Type.Number({ minimum: SLOWEST_PER_SECOND, maximum: 100_000 })),
    burst: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })),
    tier: Type.Optional(Type.Enum(TIER_NAMES)),
  },
  { description: 'Either perSecond (and burst), or a tier of WhatsApp.' },
)

const BreakerJson = Closed({
  failures: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
  resetAfter: Type.Optional(Type.String({ maxLength: 40, description: 'An ISO 8601 duration, such as PT30S.' })),
})

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
  onUnmapped: Type.Optional(
    Type.Enum(['retry', 'park'], {
      description:
        'What becomes of a notification that the vendor refuses in a way nobody has mapped. Kept in the settings.',
    }),
  ),
  breaker: Type.Optional(Nullable(BreakerJson)),
  parkedRetryAfter: Type.Optional(
    Nullable(
      Type.String({
        maxLength: 40,
        description:
          'An ISO 8601 duration from PT1M to P7D: what was parked for a reason that passes by itself is retried after it, once. null: never.',
      }),
    ),
  ),
  priority: Type.Optional(Type.Integer({ minimum: -1_000, maximum: 1_000, description: 'Lower goes first.' })),
}

const AccountBody = Closed(
  {
    channel: ChannelName,
    provider: Type.String({ pattern: PATTERNS.provider }),
    ...changeable,
    status: Type.Optional(Type.Enum(['active', 'suspended'])),
  },
  {
    title: 'NewAccount',
    examples: [
      {
        channel: 'email',
        provider: 'smtp',
        name: 'Transactional mail',
        settings: { host: 'smtp.example.com', port: 587, tls: 'starttls', fromAddress: 'shop@example.com' },
        secrets: { password: 'a password' },
        pace: { perSecond: 10, burst: 20 },
      },
    ],
  },
)

const LaneJson = Type.Object(
  {
    breaker: Type.Enum(['closed', 'open', 'half_open'], {
      description:
        'open: it has failed in a row, and nothing is sent until the hold ends; half_open: one call tries it.',
    }),
    heldUntil: Nullable(
      Type.String({ format: 'date-time', description: 'Nothing is sent before; null: it is not held.' }),
    ),
    holdReason: TextOrNull,
  },
  { description: 'How sending through it goes at present, over all workers.' },
)

const AccountJson = Type.Object(
  {
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
    onUnmapped: Type.Enum(['retry', 'park']),
    breaker: Type.Object({ failures: Type.Integer(), resetAfter: Type.String() }),
    parkedRetryAfter: TextOrNull,
    priority: Type.Integer(),
    status: Type.Enum([...ACCOUNT_STATUSES]),
    statusReason: TextOrNull,
    lane: LaneJson,
    webhookUrl: Nullable(
      Type.String({
        description:
          'Where the vendor sends its receipts to. Null where it sends none, and where the address holds a token and the key is no admin’s, or none was made yet.',
      }),
    ),
    nextStep: Nullable(
      Type.String({ description: 'What the vendor needs before its receipts come; null where it sends none.' }),
    ),
    warnings: Type.Array(WarningSchema),
    createdAt: Time,
    updatedAt: Time,
  },
  { title: 'Account' },
)

const VerificationJson = Type.Object({
  isGood: Type.Boolean(),
  detail: Type.String({ description: 'What the vendor said.' }),
})

const ConnectionJson = Type.Object({
  isConnected: Type.Boolean(),
  detail: Type.String({ description: 'What was done, or why it could not be.' }),
})

const operation = operationsOf('Accounts')

/** What is known of accounts beside what was saved: how sending goes, and what their vendors ask somebody to do. */
interface AccountStanding {
  lanes: ReadonlyMap<string, LaneView>
  notes: ReadonlyMap<string, string>
}

/** `/api/channel-accounts`: a tenant's credentials, pace and retry policy per provider. */
export function channelAccountRoutes(app: App, context: Context): void {
  const { store, registry, seal, snapshots, clock, config, receivers, receiptSources } = context
  const checks = createAccountChecks(context)
  const deps: AccountDeps = {
    ...context,
    checks,
    forget(tenantId) {
      snapshots.outdate(tenantId)
      receivers.forget()
    },
  }

  app.post(
    '/api/channel-accounts',
    operation(TO_ADMINISTER, 'Make an account', {
      operationId: 'createAccount',
      body: AccountBody,
      problems: ['already_exists', 'invalid_retry', 'in_use'],
      response: { 201: AccountJson },
    }),
    async (request, reply) =>
      reply.status(201).send(await saved(await makeAccount(deps, request, request.body), callerOf(request))),
  )

  app.get(
    '/api/channel-accounts',
    operation(TO_READ, 'List accounts, newest first', {
      operationId: 'listAccounts',
      query: {
        ...OnChannel,
        provider: Exactly(40, 'Only those of this provider.'),
        status: Type.Optional(Type.Enum([...ACCOUNT_STATUSES], { description: 'Only those that stand there.' })),
        ...Paging,
      },
      response: { 200: PageSchema(AccountJson) },
    }),
    async (request) => {
      const { channel, provider, status } = request.query
      const all = await store.accounts.list(request.tenantId, channel)
      const wanted = all.filter(
        (account) =>
          (provider === undefined || account.provider === provider) &&
          (status === undefined || account.status === status),
      )
      const caller = callerOf(request)
      const page = pageOf(wanted, request.query)
      const standing = await standingOf(request.tenantId, page.items)
      return pageJson(page, (account) => shown(account, caller, standing))
    },
  )

  app.get(
    '/api/channel-accounts/:id',
    operation(TO_READ, 'One account', { operationId: 'getAccount', response: { 200: AccountJson } }),
    async (request) => asItStands(await accountOf(request), callerOf(request)),
  )

  app.patch(
    '/api/channel-accounts/:id',
    operation(TO_ADMINISTER, 'Change what is named', {
      operationId: 'updateAccount',
      description: 'New secrets or settings activate an account that was paused because the old ones were refused.',
      body: Closed({ ...changeable, name: Type.Optional(changeable.name) }, { minProperties: 1 }),
      problems: ['already_exists', 'invalid_retry'],
      response: { 200: AccountJson },
    }),
    async (request) =>
      saved(await changeAccount(deps, request, await accountOf(request), request.body), callerOf(request)),
  )

  app.put(
    '/api/channel-accounts/:id',
    operation(TO_ADMINISTER, 'Replace an account', {
      operationId: 'replaceAccount',
      description:
        'What is not given takes its default, except secrets, which stay. Channel and provider cannot change.',
      body: Closed({ channel: ChannelName, provider: Type.String(), ...changeable }),
      problems: ['already_exists', 'invalid_retry'],
      response: { 200: AccountJson },
    }),
    async (request) =>
      saved(await replaceAccount(deps, request, await accountOf(request), request.body), callerOf(request)),
  )

  app.delete(
    '/api/channel-accounts/:id',
    operation(TO_ADMINISTER, 'Remove an account', {
      operationId: 'deleteAccount',
      description: '409 in_use while notifications still wait on it.',
      problems: ['in_use'],
      response: { 204: Type.Null() },
    }),
    async (request, reply) => {
      await removeAccount(deps, request, idParameter(request))
      return reply.status(204).send(null)
    },
  )

  for (const { verb, status, summary } of [
    { verb: 'suspend', status: 'suspended', summary: 'Stop sending through an account' },
    { verb: 'activate', status: 'active', summary: 'Let an account send again' },
  ] as const)
    app.post(
      `/api/channel-accounts/:id/${verb}`,
      operation(TO_ADMINISTER, summary, {
        operationId: `${verb}Account`,
        // A tenant whose test clock is ahead has no account that reaches real people.
        problems: status === 'active' ? ['in_use'] : [],
        response: { 200: AccountJson },
      }),
      async (request) => {
        const account = await setAccountStatus(deps, request, idParameter(request), status)
        return asItStands(account, callerOf(request))
      },
    )

  app.post(
    '/api/channel-accounts/:id/verify',
    operation(TO_ADMINISTER, 'Ask the vendor whether the credentials are good', {
      operationId: 'verifyAccount',
      description:
        'A real question to the vendor; nothing is sent to anybody. With good credentials an account that was paused because they were refused sends again.',
      response: { 200: VerificationJson },
    }),
    async (request) => verifyAccount(deps, request, idParameter(request)),
  )

  app.post(
    '/api/channel-accounts/:id/connect',
    operation(TO_ADMINISTER, 'Have the vendor send its receipts here', {
      operationId: 'connectAccount',
      description:
        'Registers webhookUrl with the vendor, where the vendor can be told: Meta, which checks the address at once. May be repeated.',
      response: { 200: ConnectionJson },
    }),
    async (request) => {
      const caller = callerOf(request)
      const { isGood, detail } = await connectAccount(deps, request, idParameter(request), (account) =>
        webhookUrl(account, caller),
      )
      return { isConnected: isGood, detail }
    },
  )

  async function accountOf(request: { params: unknown; tenantId: string }): Promise<StoredAccount> {
    return found(await store.accounts.find(request.tenantId, idParameter(request)))
  }

  async function standingOf(tenantId: string, accounts: readonly StoredAccount[]): Promise<AccountStanding> {
    const lanes = await store.lanes.list(tenantId)
    const unnamed = accounts.filter((account) => sourceOf(account.provider)?.isShared && topicOf(account) === null)
    return {
      lanes: new Map(lanes.map((lane) => [lane.accountId, lane])),
      notes: await store.receipts.notes(unnamed.map(({ id }) => id)),
    }
  }

  async function asItStands(account: StoredAccount, caller: ApiCaller): Promise<Static<typeof AccountJson>> {
    return shown(account, caller, await standingOf(account.tenantId, [account]))
  }

  /** The answer to a save, with what whoever saves should know at once. */
  async function saved(account: StoredAccount, caller: ApiCaller): Promise<Static<typeof AccountJson>> {
    const json = await asItStands(account, caller)
    return { ...json, warnings: [...json.warnings, ...(await checks.warningsOfSave(account))] }
  }

  function shown(
    account: StoredAccount,
    caller: ApiCaller,
    { lanes, notes }: AccountStanding,
  ): Static<typeof AccountJson> {
    const { breaker = 'closed', heldForMs = 0, holdReason = null } = lanes.get(account.id) ?? {}
    const isHeld = heldForMs > 0
    const { failures, resetAfterMs } = account.breaker
    const { parkedRetryAfterMs = null } = account
    const { warning } = storedRetry(account.retry)
    const clamped = warning === undefined ? [] : [{ code: 'retry_clamped', message: warning }]
    const note = notes.get(account.id)
    const asked = note === undefined ? [] : [{ code: 'unconfirmed_topic', key: 'topicArn', message: note }]
    return {
      ...withTimes(account, 'createdAt', 'updatedAt'),
      settings: settingsSeenBy(caller, account.settings),
      secrets: account.secretNames,
      pace: shownPace(account.pace),
      retry: account.retry ?? DEFAULT_RETRY_JSON,
      onUndeliverable: account.settings['onUndeliverable'] === 'fail' ? 'fail' : 'park',
      onUnmapped: onUnmappedOf(registry(account.channel, account.provider), account.settings),
      breaker: { failures, resetAfter: formatDuration(resetAfterMs) },
      parkedRetryAfter: parkedRetryAfterMs === null ? null : formatDuration(parkedRetryAfterMs),
      lane: {
        breaker,
        heldUntil: isHeld ? iso(clock.now() + heldForMs) : null,
        holdReason: isHeld ? holdReason : null,
      },
      webhookUrl: webhookUrl(account, caller),
      nextStep: nextStep(account),
      warnings: [...clamped, ...asked, ...checks.warnings(account)],
    }
  }

  function nextStep({ id, channel, provider }: StoredAccount): string | null {
    if (!sourceOf(provider)) return null
    return registry(channel, provider)?.connect
      ? `POST /api/channel-accounts/${id}/connect has the vendor send its receipts to webhookUrl.`
      : 'Give the vendor webhookUrl as the address to send its receipts to.'
  }

  function sourceOf(provider: string) {
    return [...receiptSources.values()].find(({ providers }) => providers.includes(provider))
  }

  function webhookUrl(account: StoredAccount, { key }: ApiCaller): string | null {
    const source = sourceOf(account.provider)
    if (!source) return null
    const base = config.publicUrl ?? (app.server.listening ? app.listeningOrigin : 'http://127.0.0.1')
    const url = `${base}${webhookPath(source, account.tenantId)}`
    if (!checks.needsToken(account)) return url
    if (!TO_ADMINISTER.some((role) => role === key.role)) return null
    try {
      const token = openAccountSecrets(seal, account)['webhookToken']
      if (!token) return null
      return `${url}?${new URLSearchParams({ token }).toString()}`
    } catch {
      return null
    }
  }
}

const DEFAULT_RETRY_JSON = { maxAttempts: 5, base: 'PT5S', factor: 2, cap: 'PT5M', jitter: 0.3 }
