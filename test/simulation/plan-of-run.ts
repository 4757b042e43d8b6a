import type { Random } from '../../packages/pillarbox/src/model/ports.ts'
import type { ProcessFaults } from './simulated-process.ts'
import type { VendorFaults } from './simulated-provider.ts'

/** Everything a seed decides before the run begins; printed with a failing seed. */
export interface RunPlan {
  seed: number
  workers: number
  accounts: AccountPlan[]
  /** Account id → `tenant/channel/rank`, filled when the world is furnished. */
  accountNames: Map<string, string>
  process: ProcessFaults
  vendor: VendorFaults
  stallMs: number
  orders: number
  reminders: number
  chains: number
  poison: number
  direct: number
  operatorActions: number
  /** How often somebody suspends an account. */
  suspensions: number
  /** Workers that die are replaced until this many have died. */
  mostDeaths: number
}

export interface AccountPlan {
  tenantId: string
  channel: 'email' | 'sms'
  /** Its priority on the channel: 1 stands in for 0. */
  rank: 0 | 1
  capability: 'key' | 'lookup' | 'none'
  onUnknown: 'resend' | 'hold'
  maxAttempts: number
  pace: { perSecond: number; burst: number } | null
}

/** How long things go wrong, and until when everything that was published is due. */
export const CHAOS_MS = 3_000
export const ALL_DUE_MS = 3_500

export const TENANTS = ['alpha', 'beta'] as const

/** Leases, deadlines and delays of the simulated engine, in ms: the real ones, some thirty times as fast. */
export const TIMES = {
  ttl: 1_000,
  call: 200,
  callGrace: 50,
  flush: 2,
  grace: 1_000,
  reset: 500,
  pausedHold: 1_000,
} as const

/** Most vendors of a run say nothing more once they have answered: what a receipt can do, a third of the runs shows. */
const MUTE = { sent: 0, failed: 0, delivered: 0, bounced: 0, complained: 0, read: 0 }

function talkative(pick: <T>(...options: readonly T[]) => T): VendorFaults['receipts'] {
  return {
    sent: pick(0, 0.5),
    failed: pick(0, 0.2),
    delivered: pick(0, 0.6),
    bounced: pick(0, 0.2),
    complained: pick(0, 0, 0.1),
    read: pick(0, 0.4),
  }
}

export function planRun(seed: number, random: Random): RunPlan {
  const pick = <T>(...options: readonly T[]): T => options[Math.floor(random() * options.length)] as T
  const upTo = (most: number): number => Math.floor(random() * (most + 1))
  const rate = (): number => pick(0, 0, 0.01, 0.05, 0.15)
  return {
    seed,
    workers: pick(1, 2, 2, 3),
    accountNames: new Map(),
    accounts: TENANTS.flatMap((tenantId) =>
      (['email', 'sms'] as const).flatMap((channel) =>
        pick<(0 | 1)[]>([0], [0, 1]).map((rank) => ({
          tenantId,
          channel,
          rank,
          capability: pick('key', 'none', 'none', 'lookup'),
          onUnknown: pick('resend', 'resend', 'hold'),
          maxAttempts: pick(2, 4, 8),
          pace: pick(null, null, { perSecond: 4, burst: 1 }),
        })),
      ),
    ),
    process: { crash: rate(), stall: pick(0, 0, 0.02, 0.05), lostRequest: rate(), lostReply: rate() },
    vendor: {
      transient: rate(),
      throttled: pick(0, 0, 0.05),
      tooOften: pick(0, 0, 0.05),
      deferred: pick(0, 0, 0.1),
      unauthorized: pick(0, 0, 0, 0.1),
      permanent: pick(0, 0, 0.1),
      lostRequest: rate(),
      lostReply: rate(),
      delayed: pick(0, 0, 0.05),
      receipts: pick(false, false, true) ? talkative(pick) : MUTE,
    },
    stallMs: TIMES.ttl + 200 + random() * 1_500,
    orders: upTo(3),
    reminders: upTo(1),
    chains: upTo(2),
    poison: upTo(2),
    direct: upTo(3),
    operatorActions: upTo(2),
    suspensions: pick(0, 0, 0, 1),
    mostDeaths: 5,
  }
}
