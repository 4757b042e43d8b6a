import assert from 'node:assert/strict'
import path from 'node:path'
import { describe, it } from 'node:test'
import { ENGINE_NAMES, type EngineName } from '../support/engines.ts'
import type { ProductProcess } from '../support/product-process.ts'
import { until } from '../support/until.ts'
import { chaosWorld } from './chaos-world.ts'
import { KILL_POINTS, type KillPoint } from './kill-points.ts'
import { listLive, reckon, type Seen } from './oracle.ts'
import { newOrders, type Order, openShop, publish, publishUntilAcknowledged, SHOP_CHANNELS, submit } from './shop.ts'

/** `npm run chaos -- --full` also kills at each point alone, the first time and later ones. */
const isFull = process.env['PILLARBOX_CHAOS'] === 'full'

interface Death {
  point: KillPoint
  /** The how manieth time of reaching it. */
  nth: number
}

/** Processes that start and die one after the other on one database, and are followed by one that lives. */
const CRASH_LOOPS: Record<string, string[]> = {
  'while taking and planning': [
    'intake.before:3',
    'intake.after:3',
    'submit.before:2',
    'submit.after:2',
    'plan.before:1',
    'plan.inside:4',
    'plan.after:1',
  ],
  'while sending': ['claim.before:1', 'claim.after:1', 'send.before:2', 'send.accepted:2', 'send.answered:2'],
  'while recording': ['complete.before:1', 'complete.after:1', 'beat.before:1', 'beat.after:1'],
  'while rescuing': ['send.accepted:2', 'rescue.before:1', 'rescue.taken:1', 'rescue.settling:1', 'rescue.settled:1'],
}

const LATER: Partial<Record<KillPoint, readonly number[]>> = {
  'intake.before': [1, 3, 5],
  'intake.after': [1, 3, 5],
  'submit.before': [1, 2],
  'submit.after': [1, 2],
  'plan.inside': [1, 4, 6],
  'send.before': [1, 2, 9, 24],
  'send.accepted': [1, 2, 9, 24],
  'send.answered': [1, 2, 9, 24],
}

/** Those of operations are reached in `operations.test.ts`. */
const POINTS = (Object.keys(KILL_POINTS) as KillPoint[]).filter((point) => !point.startsWith('operate'))

const UNDER_TEST = path.join(import.meta.dirname, 'worker-under-test.ts')
/**
 * For those who die of a heartbeat while calls are under way: a call lasts longer than the time between two beats, and
 * is still within the provider's time limit.
 */
const SLOW_CALLS = { latencyMs: 700, settings: { PILLARBOX_PROVIDER_TIMEOUT: 'PT0.9S' } }

describe('processes killed at any point lose nothing and repeat nothing in silence', { concurrency: 4 }, () => {
  for (const engine of ENGINE_NAMES)
    for (const [when, deaths] of Object.entries(CRASH_LOOPS))
      it(`${engine}: ${when} (${deaths.join(', ')})`, () => crashLoop(engine, deaths.map(deathOf)))

  it('names every point in some crash loop', () => {
    const named = new Set(Object.values(CRASH_LOOPS).flatMap((deaths) => deaths.map((text) => deathOf(text).point)))

    assert.deepEqual(
      POINTS.filter((point) => !named.has(point)),
      [],
    )
  })

  for (const point of isFull ? POINTS : [])
    for (const nth of LATER[point] ?? [1])
      for (const engine of ENGINE_NAMES)
        it(`${engine}: ${point} ×${nth} alone: ${KILL_POINTS[point]}`, () => {
          const before: Death[] = point.startsWith('rescue') ? [{ point: 'send.accepted', nth: 2 }] : []
          return crashLoop(engine, [...before, { point, nth }])
        })
})

function waitsForBeat({ point }: Pick<Death, 'point'>): boolean {
  return point.startsWith('beat')
}

function deathOf(text: string): Death {
  const [point, nth] = text.split(':') as [KillPoint, string]
  return { point, nth: Number(nth) }
}

async function crashLoop(engine: EngineName, deaths: readonly Death[]): Promise<void> {
  const isOfBeats = deaths.some(waitsForBeat)
  await using world = await chaosWorld(engine, isOfBeats ? { settings: SLOW_CALLS.settings } : {})
  const orders: Order[] = []
  const direct: Order[] = []
  const dead: ProductProcess[] = []

  for (const [i, { point, nth }] of deaths.entries()) {
    const killAt = `${point}:${nth}`
    const doomed = await world.startScript(UNDER_TEST, { CHAOS_KILL_AT: killAt }, { mayEnd: true })
    if (i === 0) await openShop(doomed.url, { latencyMs: isOfBeats ? SLOW_CALLS.latencyMs : 0 })
    const own = {
      orders: newOrders(8, `order-${i}`),
      direct: newOrders(point.startsWith('submit') ? 3 : 0, `direct-${i}`),
    }
    await giveWork(doomed, own)
    if (waitsForBeat({ point })) own.orders.push(...(await keepBusy(doomed, `order-${i}-more`)))
    await assertKilled(doomed, killAt)
    orders.push(...own.orders)
    direct.push(...own.direct)
    dead.push(doomed)
  }
  const healthy = await world.startProcess('start')
  await repeatEverything(healthy, orders, direct)
  const { broken, notifications } = await reckon({
    url: healthy.url,
    world,
    orders,
    channels: SHOP_CHANNELS,
    direct,
  })

  assert.deepEqual(broken, [])
  assertDoubts(notifications, dead.map(doubtsOf))
}

/** Gives a process work to die of: one by one, a batch, and again one by one. */
async function giveWork(
  doomed: ProductProcess,
  { orders, direct }: { orders: readonly Order[]; direct: readonly Order[] },
): Promise<void> {
  for (const order of direct) if (!doomed.hasExited()) await submit(doomed.url, order, 'sms')
  for (const group of [
    [0, 1],
    [1, 2],
    [2, 6],
    [6, 7],
    [7, 8],
  ] as const)
    if (!doomed.hasExited()) await publish(doomed.url, orders.slice(...group))
}

/** One order after the other, so that calls are under way at some heartbeat, however slow the machine is. */
async function keepBusy(doomed: ProductProcess, prefix: string): Promise<Order[]> {
  const more: Order[] = []
  const isIdle = (): Promise<boolean> =>
    listLive(doomed.url).then(
      (live) => live.length === 0,
      () => false,
    )
  await until('a heartbeat comes while a call is under way', async () => {
    const [order] = newOrders(1, `${prefix}-${more.length}`)
    if (doomed.hasExited() || !order) return true
    more.push(order)
    await publish(doomed.url, [order])
    await until('the process is dead or has nothing to do', async () => doomed.hasExited() || (await isIdle()))
    return doomed.hasExited()
  })
  return more
}

async function assertKilled(doomed: ProductProcess, killAt: string): Promise<void> {
  await until(`the process reaches ${killAt}`, () => doomed.hasExited()).catch((error: unknown) => {
    throw new Error(`it lives on:\n${doomed.log()}`, { cause: error })
  })
  assert.equal((await doomed.exited).signal, 'SIGKILL')
  assert.match(doomed.log(), /"msg":"killed"/)
}

/** A client that cannot know what became of a request repeats it; what was acknowledged must be known by its id. */
async function repeatEverything(
  healthy: ProductProcess,
  orders: readonly Order[],
  direct: readonly Order[],
): Promise<void> {
  for (const order of orders) {
    const wasAcknowledged = order.acknowledged
    const answer = await publish(healthy.url, [order])
    if (wasAcknowledged) assert.deepEqual([answer.status, answer.body], [200, { id: order.id, duplicate: true }])
  }
  for (const order of direct) {
    const wasAcknowledged = order.acknowledged
    const answer = await submit(healthy.url, order, 'sms')
    if (wasAcknowledged) assert.equal(answer.status, 409)
  }
  await publishUntilAcknowledged(healthy.url, orders)
}

/** What a dead process had claimed and whose outcome only it could have told. */
interface Doubts {
  /** Claimed, and the result was never about to be written. */
  certain: Set<string>
  /** The result was on its way to the store. */
  possible: Set<string>
  /** It died while a claim of its own was unanswered: which rows that took is not known from outside. */
  claimUnanswered: boolean
}

function doubtsOf(dead: ProductProcess): Doubts {
  const doubts: Doubts = { certain: new Set(), possible: new Set(), claimUnanswered: false }
  for (const line of dead.log().split('\n')) {
    if (!line.includes('"notificationIds"')) continue
    const { msg, notificationIds } = JSON.parse(line) as { msg: string; notificationIds: string[] }
    if (msg === 'claiming') doubts.claimUnanswered = true
    if (msg === 'claimed') doubts.claimUnanswered = false
    for (const id of notificationIds) {
      if (msg === 'claimed') doubts.certain.add(id)
      if (msg === 'completing' && doubts.certain.delete(id)) doubts.possible.add(id)
      if (msg === 'completed') doubts.possible.delete(id)
    }
  }
  return doubts
}

/** The calls in doubt were settled as unknown, and no others: nothing was guessed about, nothing passed over. */
function assertDoubts(notifications: readonly Seen[], doubts: readonly Doubts[]): void {
  const settled = new Set(
    notifications.filter(({ attempts }) => attempts.some(({ code }) => code === 'worker_lost')).map(({ id }) => id),
  )
  const certain = new Set(doubts.flatMap((each) => [...each.certain]))
  const possible = new Set(doubts.flatMap((each) => [...each.possible]))
  const isHeld = ({ id, channel }: Seen): boolean => channel === 'whatsapp' && settled.has(id)

  assert.deepEqual(
    [...certain].filter((id) => !settled.has(id)),
    [],
    'in doubt, and passed over',
  )
  if (!doubts.some((each) => each.claimUnanswered))
    assert.deepEqual(
      [...settled].filter((id) => !certain.has(id) && !possible.has(id)),
      [],
      'settled as unknown without a doubt',
    )
  assert.deepEqual(
    notifications.filter(({ status }) => status === 'uncertain').map(({ id }) => id),
    notifications.filter(isHeld).map(({ id }) => id),
    'held exactly where the outcome is unknown',
  )
}
