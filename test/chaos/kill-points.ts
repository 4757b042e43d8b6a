import type { Provider } from '../../packages/pillarbox/src/channels/channel.ts'
import type { SandboxVendor } from '../../packages/pillarbox/src/channels/sandbox/vendor.ts'
import type { Claim, Completion } from '../../packages/pillarbox/src/dispatch/dispatch-store.ts'
import type { WorkerView } from '../../packages/pillarbox/src/dispatch/worker-store.ts'
import type { Store } from '../../packages/pillarbox/src/store/store.ts'

/**
 * Every place between two durable facts at which a process may die, and what it leaves behind. They are wrapped around
 * the product's parts from outside: the product itself has no such points.
 */
export const KILL_POINTS = {
  'intake.before': 'an event was received, nothing is stored',
  'intake.after': 'the event is stored, the caller was not told',
  'submit.before': 'a notification was received, nothing is stored',
  'submit.after': 'the notification is stored, the caller was not told',
  'plan.before': 'events wait, no transaction has begun',
  'plan.inside': 'events are taken and planned, the plans are not written',
  'plan.after': 'notifications are stored, nobody was woken',
  'claim.before': 'rows are due, none is claimed',
  'claim.after': 'rows are claimed, the worker has not seen the answer',
  'send.before': 'the claim is seen, no byte has left',
  'send.accepted': 'the vendor has taken it, its reply is unread',
  'send.answered': 'the reply is read, the result is in memory only',
  'complete.before': 'the result is about to be written',
  'complete.after': 'the result is stored, the worker was not told',
  'beat.before': 'calls are under way, a heartbeat is due',
  'beat.after': 'calls are under way, the heartbeat is stored, the worker was not told',
  'rescue.before': 'a dead worker’s rows wait, no take-over has begun',
  'rescue.taken': 'a dead worker’s rows were taken over, the rescuer was not told',
  'rescue.settling': 'rows taken over are about to be settled as unknown',
  'rescue.settled': 'rows taken over are settled, the rescuer was not told',
  'operate.taken': 'an operation has its worker, and nothing of it is moved yet',
  'operate.moving': 'an item of an operation is about to be moved',
  'operate.moved': 'the item is moved and marked, the worker was not told',
  'operate.counting': 'items were moved and are not counted',
  'operate.counted': 'the items are counted, the worker was not told',
} as const

export type KillPoint = keyof typeof KILL_POINTS

/** Says that a point is reached; the nth time, the process is gone when this would return. */
export type Reach = (point: KillPoint) => void

/** What a process notes of its claims before it may die, so that a test knows which calls were in doubt. */
export type Note = (
  what: 'claiming' | 'claimed' | 'completing' | 'completed',
  notificationIds: readonly string[],
) => void

export function storeUnderTest(store: Store, reach: Reach, note: Note, callsUnderWay: () => number): Store {
  let received = 0
  return {
    ...store,
    events: {
      ...store.events,
      async insert(events) {
        reach('intake.before')
        const answer = await store.events.insert(events)
        received += events.length
        reach('intake.after')
        return answer
      },
    },
    notifications: {
      ...store.notifications,
      async insert(notifications) {
        reach('submit.before')
        const answer = await store.notifications.insert(notifications)
        reach('submit.after')
        return answer
      },
      async act(request) {
        if (request.item) reach('operate.moving')
        const answer = await store.notifications.act(request)
        if (request.item && answer?.moved) reach('operate.moved')
        return answer
      },
    },
    operations: {
      ...store.operations,
      async take(leaseMs) {
        const taken = await store.operations.take(leaseMs)
        if (taken) reach('operate.taken')
        return taken
      },
      async checkpoint(request) {
        reach('operate.counting')
        await store.operations.checkpoint(request)
        reach('operate.counted')
      },
    },
    plan: {
      ...store.plan,
      async takeEvents(limit, turns) {
        if (received > 0) reach('plan.before')
        const batch = await store.plan.takeEvents(limit, turns)
        return {
          ...batch,
          async write(plans) {
            for (const { kind } of plans) if (kind === 'notifications') reach('plan.inside')
            const written = await batch.write(plans)
            if (written.inserted > 0) reach('plan.after')
            return written
          },
        }
      },
    },
    dispatch: {
      ...store.dispatch,
      async claim(workerId, lanes) {
        reach('claim.before')
        note('claiming', [])
        const answer = await store.dispatch.claim(workerId, lanes)
        note('claimed', answer.fenced ? [] : idsOf(answer.claims))
        if (!answer.fenced && answer.claims.length > 0) reach('claim.after')
        return answer
      },
      async complete(workerId, completions) {
        const isRescue = completions.some(({ code }) => code === 'worker_lost')
        reach(isRescue ? 'rescue.settling' : 'complete.before')
        note('completing', idsOf(completions))
        const answer = await store.dispatch.complete(workerId, completions)
        note('completed', idsOf(completions))
        reach(isRescue ? 'rescue.settled' : 'complete.after')
        return answer
      },
      async release(workerId, claims) {
        note('completing', idsOf(claims))
        await store.dispatch.release(workerId, claims)
        note('completed', idsOf(claims))
      },
    },
    workers: {
      ...store.workers,
      async beat(...args) {
        if (callsUnderWay() > 0) reach('beat.before')
        const answer = await store.workers.beat(...args)
        if (callsUnderWay() > 0) reach('beat.after')
        return answer
      },
      async takeOver(workerId, ttlMs, ...rest) {
        // The living beat every quarter of the TTL.
        const isDead = ({ silentForMs }: WorkerView): boolean => silentForMs > ttlMs / 2
        if ((await store.workers.list()).some(isDead)) reach('rescue.before')
        const claims = await store.workers.takeOver(workerId, ttlMs, ...rest)
        if (claims.length > 0) reach('rescue.taken')
        return claims
      },
    },
  }
}

export function vendorUnderTest(vendor: SandboxVendor, reach: Reach): SandboxVendor {
  return {
    ...vendor,
    async accept(submission, terms) {
      const reply = await vendor.accept(submission, terms)
      if (reply.kind === 'accepted') reach('send.accepted')
      return reply
    },
  }
}

export function providerUnderTest(provider: Provider, reach: Reach): { provider: Provider; underWay: () => number } {
  let underWay = 0
  const send: Provider['send'] = async (request) => {
    reach('send.before')
    underWay++
    try {
      const outcome = await provider.send(request)
      if (outcome.kind === 'accepted') reach('send.answered')
      return outcome
    } finally {
      underWay--
    }
  }
  return { provider: { ...provider, send }, underWay: () => underWay }
}

function idsOf(rows: readonly Pick<Claim | Completion, 'notificationId'>[]): string[] {
  return rows.map((row) => row.notificationId)
}
