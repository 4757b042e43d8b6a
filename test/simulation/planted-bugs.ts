import type { Provider } from '../../packages/pillarbox/src/channels/channel.ts'
import type {
  Claim,
  ClaimAnswer,
  Completion,
  DispatchStore,
} from '../../packages/pillarbox/src/dispatch/dispatch-store.ts'
import { POISONED } from '../../packages/pillarbox/src/model/crash.ts'
import { isPillarboxError } from '../../packages/pillarbox/src/model/errors.ts'
import type { NewNotification } from '../../packages/pillarbox/src/model/notification.ts'
import type { EventPlan } from '../../packages/pillarbox/src/plan/plan-store.ts'
import type { Store } from '../../packages/pillarbox/src/store/store.ts'
import { wholeNotifications } from '../support/notifications.ts'
import { changedBatch } from '../support/planning.ts'
import type { Ledger } from './ledger.ts'

/**
 * A bug planted on purpose, to test the tests: the checkers must catch each one. It is a wrapper around a part, so
 * nothing of it is in the product.
 */
export interface PlantedBug {
  name: string
  /** The promise whose checker must cry out. */
  breaks: RegExp
  /** In the store that everybody shares. */
  store?(base: Store, ledger: Ledger): Store
  /** In one worker, on its side of the wire. */
  client?(store: Store): Store
  provider?(provider: Provider, ledger: Ledger): Provider
  /** In the application that publishes. */
  publisher?(store: Store): Store
}

export const PLANTED_BUGS: PlantedBug[] = [
  {
    name: 'the audit is chained before all that was under way is over',
    breaks: /P11/,
    client: (store) => ({
      ...store,
      audit: {
        ...store.audit,
        horizon: async () => ({ upTo: (await store.audit.horizon()).upTo + 3, transaction: '0' }),
      },
    }),
  },
  {
    name: 'completion without compare: a stale worker overwrites',
    // Or, where the other one's result is lost by it, a second call that nobody knows of.
    breaks: /P5|P4/,
    store: (base, ledger) =>
      withDispatch(base, {
        complete: (workerId, completions) =>
          base.dispatch.complete(
            workerId,
            completions.map((completion) => ({
              ...completion,
              token: ledger.tokenOf(completion.notificationId) ?? completion.token,
            })),
          ),
      }),
  },
  {
    name: 'token reused: every claim of a row carries the same one',
    breaks: /P5/,
    store(base) {
      const real = new Map<string, number>()
      const mask = (claim: Claim): Claim => {
        real.set(claim.notificationId, claim.token)
        return { ...claim, token: 1 }
      }
      const unmask = <T extends { notificationId: string; token: number }>(row: T): T => ({
        ...row,
        token: real.get(row.notificationId) ?? row.token,
      })
      return {
        ...withDispatch(base, {
          async claim(workerId, lanes) {
            const answer = await base.dispatch.claim(workerId, lanes)
            return answer.fenced ? answer : { fenced: false, claims: answer.claims.map(mask) }
          },
          complete: (workerId, completions) => base.dispatch.complete(workerId, completions.map(unmask)),
          release: (workerId, claims) => base.dispatch.release(workerId, claims.map(unmask)),
          orphans: async () => [],
        }),
        workers: {
          ...bound(base.workers),
          takeOver: async (...args) => (await base.workers.takeOver(...args)).map(mask),
        },
      }
    },
  },
  {
    name: 'results are counted for another tenant',
    breaks: /numbers/,
    client: (store) =>
      withDispatch(store, {
        complete: (workerId, completions) =>
          store.dispatch.complete(
            workerId,
            completions.map((each) => ({ ...each, counted: { ...each.counted, tenantId: 'nobody' } })),
          ),
      }),
  },
  {
    name: 'acknowledged before commit: the answer comes first, the write may never',
    breaks: /P1/,
    publisher(store) {
      let count = 0
      return {
        ...bound(store),
        events: {
          ...bound(store.events),
          insert: async (events) =>
            ++count % 3 === 0 ? events.map(({ id }) => ({ id, duplicate: false })) : store.events.insert(events),
        },
      }
    },
  },
  {
    name: 'intent after effect: sent first, claimed when the result is known',
    breaks: /P3/,
    client: (store) =>
      withDispatch(store, {
        async claim(_workerId, lanes) {
          const waiting = await wholeNotifications(store, { status: ['queued', 'retrying'] }, 20)
          const claims = waiting
            .filter((row) => row.content && lanes.some(({ accountId }) => accountId === row.accountId))
            .slice(0, 2)
            .map(
              (row): Claim => ({
                notificationId: row.id,
                accountId: row.accountId ?? '',
                token: -1,
                attempt: row.attemptCount + 1,
                spent: row.attemptCount,
                possibleDuplicate: row.possibleDuplicate,
                tenantId: row.tenantId,
                channel: row.channel,
                to: row.to,
                content: row.content ?? { subject: null, body: '', data: {} },
                policy: row.policy,
                eventType: row.eventType,
                entity: row.entity,
                site: row.site,
                locale: row.locale,
                correlationId: row.correlationId,
                fallback: row.fallback,
                expiresAt: row.expiresAt,
                overridesSuppression: false,
                visibleAt: row.nextAttemptAt ?? row.createdAt,
                wantedAt: row.createdAt,
                claimedAt: row.createdAt,
              }),
            )
          return { fenced: false, claims }
        },
        async complete(workerId, completions) {
          const lanes = [...new Set(completions.map(({ accountId }) => accountId))].map((accountId) => ({
            accountId,
            limit: 5,
          }))
          const answer = await store.dispatch.claim(workerId, lanes)
          const tokens = new Map(answer.fenced ? [] : answer.claims.map((claim) => [claim.notificationId, claim.token]))
          return store.dispatch.complete(
            workerId,
            completions.map((completion) => ({ ...completion, token: tokens.get(completion.notificationId) ?? -1 })),
          )
        },
      }),
  },
  {
    name: 'rescue without flag: a dead worker’s call is made again as if it had never been made',
    breaks: /P4/,
    client: completing((completion) =>
      completion.code === 'worker_lost' ? { ...completion, possibleDuplicate: false } : completion,
    ),
  },
  {
    name: 'unknown taken for refused: a lost answer is retried without a flag',
    breaks: /P4/,
    provider: (provider) => ({
      ...provider,
      async send(request) {
        const outcome = await provider.send(request)
        return outcome.kind === 'unknown' ? { kind: 'transient', code: outcome.code, error: outcome.error } : outcome
      },
    }),
  },
  {
    name: 'doubt not written: a call without an answer is retried by policy, and no flag says so',
    breaks: /P4/,
    client: completing((completion) =>
      completion.outcome === 'unknown' ? { ...completion, possibleDuplicate: false } : completion,
    ),
  },
  {
    name: 'failover on a guess: a call without an answer is made again through another account',
    breaks: /P4: \w+ arrived through two accounts/,
    client: (store) =>
      withDispatch(store, {
        async complete(workerId, completions) {
          const moved = completions.map(async (completion): Promise<Completion> => {
            const { outcome, to, accountId } = completion
            const account =
              outcome === 'unknown' && to === 'retrying' ? await store.accounts.find(null, accountId) : null
            const all = account ? await store.accounts.list(account.tenantId, account.channel) : []
            const other = all.find(({ id }) => id !== accountId)
            return { ...completion, moveTo: other ? { accountId: other.id, provider: other.provider } : null }
          })
          return store.dispatch.complete(workerId, await Promise.all(moved))
        },
      }),
  },
  {
    name: 'moved on paper only: the ledger names the second account, the first one is called',
    // Or, where the first one's credentials are refused again and again, never sent.
    breaks: /P11|P1:|numbers/,
    store: (base) =>
      withDispatch(base, {
        async claim(workerId, lanes) {
          const answer = await base.dispatch.claim(workerId, lanes)
          if (answer.fenced) return answer
          const claims = answer.claims.map(async (claim) => {
            const [first] = await base.accounts.list(claim.tenantId, claim.channel)
            return first ? { ...claim, accountId: first.id } : claim
          })
          return { fenced: false, claims: await Promise.all(claims) }
        },
      }),
  },
  {
    name: 'in doubt given back: a call without an answer is released as unsent',
    breaks: /P1|P4/,
    client: (store) =>
      withDispatch(store, {
        async complete(workerId, completions) {
          const unsure = completions.filter(({ outcome }) => outcome === 'unknown')
          if (unsure.length) await store.dispatch.release(workerId, unsure)
          const rest = completions.filter(({ outcome }) => outcome !== 'unknown')
          return rest.length ? store.dispatch.complete(workerId, rest) : { fenced: [], lanes: [] }
        },
      }),
  },
  {
    name: 'results dropped: a completion the store did not answer is forgotten',
    breaks: /P1|P4/,
    client: (store) =>
      withDispatch(store, {
        async complete(workerId, completions) {
          try {
            return await store.dispatch.complete(workerId, completions)
          } catch (error) {
            if (isPillarboxError(error, 'store_unavailable')) return { fenced: [], lanes: [] }
            throw error
          }
        },
      }),
  },
  {
    name: 'orphans abandoned: rows whose claim was never answered are not asked for',
    breaks: /P1/,
    client: (store) => withDispatch(store, { orphans: async () => [] }),
  },
  {
    name: 'orphans resent blindly: taken-over rows without an answer go back as unsent',
    breaks: /P1|P4/,
    client: (store) =>
      withDispatch(store, {
        async orphans(workerId, held) {
          const inDoubt = await store.dispatch.orphans(workerId, held)
          if (inDoubt.length) await store.dispatch.release(workerId, inDoubt)
          return []
        },
      }),
  },
  {
    name: 'published and empty: the event is marked, its notifications are not written',
    breaks: /P1/,
    client: planning((plan) =>
      plan.kind === 'notifications' ? { ...plan, notifications: plan.notifications.slice(1) } : plan,
    ),
  },
  {
    name: 'drops a channel: what is skipped is not written',
    breaks: /P1: event .* asked for/,
    client: planning((plan) =>
      plan.kind === 'notifications'
        ? { ...plan, notifications: plan.notifications.filter(({ stopped }) => stopped?.status !== 'skipped') }
        : plan,
    ),
  },
  {
    name: 'forgets a duplicate: what another event has told leaves nothing',
    breaks: /P1: event .* asked for/,
    client: (store) => ({
      ...bound(store),
      plan: {
        ...bound(store.plan),
        async takeEvents(limit, turns) {
          const batch = await store.plan.takeEvents(limit, turns)
          const isNew = async ({ tenantId, idempotencyKey: q }: NewNotification): Promise<boolean> =>
            (await store.notifications.list({ tenantId, q }, { limit: 1 })).items.length === 0
          return {
            ...batch,
            async write(plans) {
              const left: EventPlan[] = []
              for (const plan of plans) {
                if (plan.kind !== 'notifications') left.push(plan)
                else {
                  const fresh: NewNotification[] = []
                  for (const each of plan.notifications) if (await isNew(each)) fresh.push(each)
                  left.push({ ...plan, notifications: fresh })
                }
              }
              return batch.write(left)
            },
          }
        },
      },
    }),
  },
  {
    name: 'two steps for one: notifications are written after the event was marked',
    breaks: /P1/,
    client(store) {
      return {
        ...bound(store),
        plan: {
          ...bound(store.plan),
          async takeEvents(limit, turns) {
            const later: NewNotification[] = []
            const batch = changedBatch(await store.plan.takeEvents(limit, turns), (plan) => {
              if (plan.kind !== 'notifications') return plan
              later.push(...plan.notifications)
              return { ...plan, notifications: [] }
            })
            return {
              ...batch,
              async write(plans) {
                const written = await batch.write(plans)
                if (later.length) await store.notifications.insert(later)
                return written
              },
            }
          },
        },
      }
    },
  },
  {
    name: 'keys with chance in them: a repeated confirmation makes a second row',
    breaks: /P2/,
    client: planning((plan) =>
      plan.kind === 'notifications'
        ? {
            ...plan,
            notifications: plan.notifications.map((row) => ({
              ...row,
              idempotencyKey: `${row.idempotencyKey}:${row.id}`,
            })),
          }
        : plan,
    ),
  },
  {
    name: 'fallback forgotten: the first channel is closed, the second never begun',
    breaks: /P1/,
    client: completing((completion) => ({ ...completion, next: null })),
  },
  {
    name: 'expiry ignored: what is too late is sent all the same',
    breaks: /expired/,
    client: (store) =>
      withDispatch(store, {
        async claim(workerId, lanes): Promise<ClaimAnswer> {
          const answer = await store.dispatch.claim(workerId, lanes)
          return answer.fenced
            ? answer
            : { fenced: false, claims: answer.claims.map((claim) => ({ ...claim, expiresAt: null })) }
        },
      }),
  },
  {
    name: 'sent without a record: the attempt row is left out',
    breaks: /P11/,
    client: completing((completion) => (completion.to === 'sent' ? { ...completion, outcome: null } : completion)),
  },
  {
    name: 'one row, two workers: a claim is handed out again',
    breaks: /P3|P5/,
    store(base) {
      let last: Claim[] = []
      let turn = 0
      return withDispatch(base, {
        async claim(workerId, lanes) {
          const answer = await base.dispatch.claim(workerId, lanes)
          if (answer.fenced) return answer
          const again = ++turn % 5 === 0 ? last : []
          last = answer.claims
          return { fenced: false, claims: [...answer.claims, ...again] }
        },
      })
    },
  },
  {
    name: 'early receipts forgotten: what came before our own commit is never applied',
    breaks: /P6/,
    store: (base) => ({
      ...bound(base),
      receipts: {
        ...bound(base.receipts),
        settle: (id, result) => base.receipts.settle(id, { ...result, status: 'applied' }),
      },
    }),
  },
  {
    name: 'answered before it is kept: every third callback is gone',
    breaks: /P6/,
    store(base) {
      let count = 0
      return {
        ...bound(base),
        receipts: {
          ...bound(base.receipts),
          keep: async (callback) => (++count % 3 === 0 ? true : base.receipts.keep(callback)),
        },
      }
    },
  },
  {
    name: 'first receipt wins: rank is not compared',
    breaks: /P6/,
    store(base) {
      const first = new Map<string, string>()
      return {
        ...bound(base),
        receipts: {
          ...bound(base.receipts),
          async merge(receipt) {
            const known = first.get(receipt.notificationId)
            if (known !== undefined && known !== receipt.kind) return 'kept'
            first.set(receipt.notificationId, receipt.kind)
            return base.receipts.merge(receipt)
          },
        },
      }
    },
  },
  {
    name: 'suspect taken for poisoned: whatever was in a batch that a process died over is given up',
    breaks: /P7/,
    store: (base) => ({
      ...bound(base),
      plan: {
        ...bound(base.plan),
        async takeEvents(limit, turns) {
          const batch = await base.plan.takeEvents(limit, turns)
          return { ...batch, crashes: batch.crashes.map((known) => known * POISONED) }
        },
      },
    }),
  },
  {
    name: 'pace ignored: every token asked for is granted',
    breaks: /pace/,
    client: (store) => ({
      ...bound(store),
      lanes: {
        ...bound(store.lanes),
        take: async (requests) => requests.map(({ accountId, want }) => ({ accountId, granted: want, waitMs: 0 })),
      },
    }),
  },
]

function completing(change: (completion: Completion) => Completion): (store: Store) => Store {
  return (store) =>
    withDispatch(store, {
      complete: (workerId, completions) => store.dispatch.complete(workerId, completions.map(change)),
    })
}

function planning(change: (plan: EventPlan) => EventPlan): (store: Store) => Store {
  return (store) => ({
    ...bound(store),
    plan: {
      ...bound(store.plan),
      takeEvents: async (limit, turns) => changedBatch(await store.plan.takeEvents(limit, turns), change),
    },
  })
}

export function withDispatch(store: Store, changes: Partial<DispatchStore>): Store {
  return { ...bound(store), dispatch: { ...bound(store.dispatch), ...changes } }
}

/** A copy whose methods still belong to the original, proxies included. */
function bound<T extends object>(target: T): T {
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(target)) {
    const value = Reflect.get(target, key) as unknown
    copy[key] = typeof value === 'function' ? value.bind(target) : value
  }
  return copy as T
}
