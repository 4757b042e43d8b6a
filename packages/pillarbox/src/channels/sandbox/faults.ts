import type { Channel } from '../../model/channel.ts'
import type { Random } from '../../model/ports.ts'
import type { Fault } from './settings.ts'

/** What a fault is judged by. */
export interface FaultCall {
  accountId: string
  channel: Channel
  /** The address the channel sends to. */
  address: string
  attempt: number
}

/** Counts one use of a rule that applies only so often; false when it is used up. Exact across processes. */
export type TakeFault = (accountId: string, rule: string, times: number) => boolean

/**
 * The fault that decides this call, or null when it goes through. Rules are tried in order and the first that applies
 * wins; a rule's `times` is only counted when everything else about it agrees.
 */
export function pickFault(
  faults: readonly Fault[],
  call: FaultCall,
  deps: { random: Random; take: TakeFault },
): Fault | null {
  for (const [index, fault] of faults.entries()) {
    if (fault.channel !== undefined && fault.channel !== call.channel) continue
    if (fault.to !== undefined && !matches(fault.to, call.address)) continue
    if (fault.ratio !== undefined && deps.random() >= fault.ratio) continue
    if (fault.times !== undefined && !deps.take(call.accountId, ruleKey(index, fault), fault.times)) continue
    return fault
  }
  return magicFault(call)
}

/**
 * Addresses that misbehave without any setting, for people trying things out. `attempts` limits the fault to the first
 * so many attempts of a notification. `docs/guides/sandbox.md` lists them, and a test keeps the two equal.
 */
export const MAGIC = {
  bounce: { phone: '+12025550191', fault: { kind: 'permanent', reason: 'invalid_recipient' } },
  slow: { phone: '+12025550192', fault: { kind: 'slow', delayMs: 3_000 } },
  fail: { phone: '+12025550193', fault: { kind: 'server_error' } },
  flaky: { phone: '+12025550194', fault: { kind: 'server_error' }, attempts: 1 },
  timeout: { phone: '+12025550195', fault: { kind: 'timeout_after_accept', delayMs: 2_000 }, attempts: 1 },
} as const satisfies Record<string, { phone: string; fault: Fault; attempts?: number }>

const MAGIC_WORD = new RegExp(`\\+(${Object.keys(MAGIC).join('|')})(?![a-z0-9])`, 'i')

function magicFault({ address, attempt }: FaultCall): Fault | null {
  const word = MAGIC_WORD.exec(address)?.[1]?.toLowerCase()
  for (const [name, magic] of Object.entries<{ phone: string; fault: Fault; attempts?: number }>(MAGIC)) {
    if (name !== word && magic.phone !== address) continue
    return attempt > (magic.attempts ?? Number.POSITIVE_INFINITY) ? null : magic.fault
  }
  return null
}

/** Compared piece by piece instead of by a made-up regular expression, so that no pattern can be slow. */
function matches(pattern: string, address: string): boolean {
  const pieces = pattern.toLowerCase().split('*')
  const text = address.toLowerCase()
  const first = pieces[0] ?? ''
  if (pieces.length === 1) return text === first
  const last = pieces.at(-1) ?? ''
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return false
  const end = text.length - last.length
  let from = first.length
  for (const piece of pieces.slice(1, -1)) {
    const found = text.indexOf(piece, from)
    if (found < 0 || found + piece.length > end) return false
    from = found + piece.length
  }
  return true
}

/** A changed rule counts anew, an unchanged one goes on counting, whatever order a database returns its fields in. */
function ruleKey(index: number, fault: Fault): string {
  const fields = Object.entries(fault).sort(([a], [b]) => (a < b ? -1 : 1))
  return `${index}:${JSON.stringify(Object.fromEntries(fields))}`
}
