import type { Config } from '../../config/config.ts'
import type { LaneView } from '../../dispatch/lane-store.ts'
import { isResting } from '../../dispatch/lane-store.ts'
import type { WorkerView } from '../../dispatch/worker-store.ts'
import { formatDuration } from '../../model/duration.ts'
import { workTroubles } from '../../operate/health.ts'
import { PURGE_TURN } from '../../store/shared/purge.ts'
import { lastDoneIn } from '../../store/shared/turns.ts'
import type { Store } from '../../store/store.ts'
import { type CheckResult, fail, ok, warn } from './finding.ts'

/** More of a kind are counted. */
const MOST_NAMED = 10

/** Those that are told of one by one below. */
const TOLD_APART = ['no_worker', 'worker_silent', 'breaker_open', 'account_paused']

/** How the work goes at present: who does it, what keeps it from being done, and whether what is old is removed. */
export async function checkWork(store: Store, config: Config): Promise<CheckResult[]> {
  const [workers, lanes, troubles] = await Promise.all([
    store.workers.list(),
    store.lanes.list(null),
    workTroubles(store, config),
  ])
  const others = troubles.filter(({ code }) => !TOLD_APART.includes(code))
  return [
    ...checkWorkers(workers, config),
    ...checkLanes(lanes),
    ...others.map(({ code, message }) => ({ subject: code.replaceAll('_', ' '), ...fail(message) })),
    ...(await checkRetention(store, workers, config)),
  ]
}

function checkWorkers(workers: readonly WorkerView[], { workerTtlMs }: Config): CheckResult[] {
  const silent = workers.filter(({ silentForMs }) => silentForMs > workerTtlMs)
  const alive = workers.length - silent.length
  const running = alive === 1 ? '1 worker is alive' : `${alive} workers are alive`
  const first =
    alive > 0
      ? ok(running)
      : warn('none is alive: nothing is sent', 'start one: "pillarbox start" or "pillarbox worker"')
  const others = silent.map(({ host, pid, silentForMs, inFlight }) =>
    fail(
      `worker on ${host} (process ${pid}) has said nothing for ${Math.round(silentForMs / 1_000)} s, with ${inFlight} calls under way`,
      'it was killed, hangs, or is cut off from the database: start it again; another worker takes over what it held',
    ),
  )
  return [first, ...named(others, 'more workers are silent')].map((result) => ({ subject: 'workers', ...result }))
}

function checkLanes(lanes: readonly LaneView[]): CheckResult[] {
  const open = lanes
    .filter(isResting)
    .map(({ accountId, tenantId, channel, holdReason }) =>
      fail(
        `the breaker of ${channel} account ${accountId} of ${tenantId} is open${holdReason === null ? '' : `: ${holdReason}`}`,
        `it is tried again by itself; look with "pillarbox accounts verify ${accountId} --tenant ${tenantId}", or suspend it so that others take over`,
      ),
    )
  const paused = lanes
    .filter(({ status }) => status === 'paused')
    .map(({ accountId, tenantId, channel }) =>
      fail(
        `${channel} account ${accountId} of ${tenantId} is paused: the vendor refused its credentials`,
        `give it others with "pillarbox accounts update ${accountId} --tenant ${tenantId} --file …", or activate it`,
      ),
    )
  return [...named(open, 'more breakers are open'), ...named(paused, 'more accounts are paused')].map((result) => ({
    subject: 'accounts',
    ...result,
  }))
}

function named(results: readonly CheckResult[], more: string): CheckResult[] {
  const rest = results.length - MOST_NAMED
  return rest <= 0 ? [...results] : [...results.slice(0, MOST_NAMED), fail(`${rest} ${more}`)]
}

/** Nothing is said before it could have run. */
async function checkRetention(
  store: Store,
  workers: readonly WorkerView[],
  { purgeEveryMs, workerTtlMs }: Config,
): Promise<CheckResult[]> {
  const now = await store.now()
  const last = lastDoneIn(await store.instance.read(PURGE_TURN))
  const alive = workers.filter(({ silentForMs }) => silentForMs <= workerTtlMs)
  const since = last ?? alive.reduce((earliest, { startedAt }) => Math.min(earliest, startedAt), now)
  const about = last === null ? 'has never run' : `last ran ${new Date(last).toISOString()}`
  if (now - since <= 2 * purgeEveryMs) return last === null ? [] : [{ subject: 'retention', ...ok(about) }]
  const found = `${about}, and should every ${formatDuration(purgeEveryMs)}`
  const advice = 'run "pillarbox purge", and see the workers’ logs for what keeps them from it'
  return [{ subject: 'retention', ...warn(found, advice) }]
}
