import { randomFillSync, randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { collectDefaultMetrics, Registry } from 'prom-client'
import type { Clock, Random } from '../model/ports.ts'

/** The machine's own time. The only real clock there is; everything else is handed one. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      const end = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', end)
        resolve()
      }
      const timer = setTimeout(end, ms)
      signal?.addEventListener('abort', end, { once: true })
    }),
}

const POOL_NUMBERS = 1_024

/** Chance nobody can guess: 48 bits of the system's randomness per number, drawn in blocks. */
export function systemRandom(): Random {
  const pool = Buffer.alloc(POOL_NUMBERS * 6)
  let at = pool.length
  return () => {
    if (at === pool.length) {
      randomFillSync(pool)
      at = 0
    }
    at += 6
    return pool.readUIntBE(at - 6, 6) / 2 ** 48
  }
}

/** Whether this machine has a process of that number; one that belongs to somebody else counts. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * Where numbers of processes mean the same processes. Containers may share a hostname, and see only their own; where that
 * cannot be told, nobody shares this process's numbers.
 */
export function pidSpace(): string {
  if (process.platform !== 'linux') return hostname()
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${hostname()} ${boot} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return randomUUID()
  }
}

let platform: Registry | null = null

/** What the platform measures of this process. Once for all who want it: it watches for as long as the process lives. */
export function platformMetrics(): Registry {
  if (platform === null) {
    platform = new Registry()
    collectDefaultMetrics({ register: platform })
  }
  return platform
}
