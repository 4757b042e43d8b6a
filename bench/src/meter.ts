import { readdirSync, readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { now, sleep } from './clock.ts'
import { redisAddress } from './environment.ts'
import { withPostgres } from './postgres-admin.ts'

/**
 * How much processor time went where during a timed window: to the PostgreSQL server, and to anything that is no part
 * of this benchmark. The machine may be shared, so samples wait for quiet, and disturbed ones are repeated.
 */
export interface Snapshot {
  at: number
  busy: number
  own: Map<number, number>
  serverMs: number
}

interface Process {
  parent: number
  ticks: number
  /** Of children that have ended and been waited for. */
  endedTicks: number
}

const MS_PER_TICK = 10
const KERNEL = 2
const roots = new Set<number>([process.pid])
let postmaster = 0

/** Learns which processes are the servers under test. */
export async function findServers(): Promise<void> {
  const backend = await withPostgres('postgres', async (client) => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    return processes().get(rows[0]?.pid ?? 0)
  })
  postmaster = backend?.parent ?? 0
  if (postmaster > 0) roots.add(postmaster)
  const address = redisAddress()
  if (address === null) return
  const redis = new Redis(address)
  const pid = Number(/process_id:(\d+)/.exec(await redis.info('server'))?.[1])
  if (pid > 0) roots.add(pid)
  await redis.quit()
}

export function snapshot(): Snapshot {
  const all = processes()
  return { at: now(), busy: busyTicks(), own: ownTicks(all), serverMs: serverMs(all) }
}

/** Cores used by others between two snapshots. Ticks are 10 ms: only meaningful over 0.3 s and more. */
export function foreignCores(before: Snapshot, after: Snapshot): number {
  let own = 0
  for (const [pid, ticks] of after.own) own += ticks - (before.own.get(pid) ?? 0)
  const foreignMs = Math.max(0, after.busy - before.busy - own) * MS_PER_TICK
  return foreignMs / (after.at - before.at)
}

const LOOK_MS = 1_500

/** Waits until others use less than `cores`; false when that did not happen within `patienceMs`. */
export async function quiet(cores: number, patienceMs: number): Promise<boolean> {
  const from = now()
  for (;;) {
    const before = snapshot()
    await sleep(LOOK_MS)
    if (foreignCores(before, snapshot()) < cores) return true
    if (now() - from > patienceMs) return false
  }
}

function processes(): Map<number, Process> {
  const all = new Map<number, Process>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      // Behind the name, which may itself hold blanks and brackets.
      const fields = stat
        .slice(stat.lastIndexOf(')') + 2)
        .split(' ')
        .map(Number)
      const [parent = 0, user = 0, system = 0, endedUser = 0, endedSystem = 0] = [1, 11, 12, 13, 14].map(
        (k) => fields[k],
      )
      all.set(Number(name), { parent, ticks: user + system, endedTicks: endedUser + endedSystem })
    } catch {
      // It ended meanwhile.
    }
  }
  return all
}

/** user, nice, system, irq, softirq and steal of the whole machine. */
function busyTicks(): number {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n')
  const fields = line.trim().split(/\s+/).slice(1).map(Number)
  return [0, 1, 2, 5, 6, 7].reduce((sum, k) => sum + (fields[k] ?? 0), 0)
}

function ownTicks(all: ReadonlyMap<number, Process>): Map<number, number> {
  const own = new Map<number, number>()
  for (const [pid, { parent, ticks }] of all) {
    // Kernel threads work for whoever is measured.
    let isOwn = pid === KERNEL || parent === KERNEL
    for (let at = pid, steps = 0; steps < 20 && !isOwn && at > 1; steps++) {
      isOwn = roots.has(at)
      at = all.get(at)?.parent ?? 0
    }
    if (isOwn) own.set(pid, ticks)
  }
  return own
}

function serverMs(all: ReadonlyMap<number, Process>): number {
  const main = all.get(postmaster)
  let ticks = (main?.ticks ?? 0) + (main?.endedTicks ?? 0)
  for (const { parent, ticks: each } of all.values()) if (parent === postmaster && postmaster > 0) ticks += each
  return ticks * MS_PER_TICK
}
