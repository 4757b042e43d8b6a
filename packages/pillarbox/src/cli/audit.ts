import { type VerifiedChain, verifyChain } from '../operate/verify-audit.ts'
import { type CommandCall, refuseUnknownTenant, withStore } from './call.ts'

const REPORT_EVERY_MS = 2_000

/** `audit verify`: exit code 1 where a chain is broken, with the first place at which it is. */
export function verifyAudit(call: CommandCall): Promise<number> {
  const { options, stdout } = call
  const { tenant, expectHead } = options
  const expected = typeof expectHead === 'string' ? expectHead.toLowerCase() : undefined
  if (expected !== undefined && !/^[0-9a-f]{64}$/.test(expected))
    call.refuse('--expect-head must be a hash as "pillarbox audit verify" prints it: 64 hexadecimal digits')
  if (expected !== undefined && typeof tenant !== 'string')
    call.refuse('--expect-head is the head of one chain: name its tenant with --tenant')
  return withStore(call, async (store) => {
    if (typeof tenant === 'string') await refuseUnknownTenant(store, tenant)
    const tenants = typeof tenant === 'string' ? [tenant] : await store.audit.chains()
    const chains: VerifiedChain[] = []
    for (const tenantId of tenants) {
      const chain = await verifyChain(store.audit, tenantId, {
        expectedHead: expected,
        onProgress: reporter(call, nameOf(tenantId)),
      })
      chains.push(chain)
      if (!options['json']) stdout.write(inWords(chain))
    }
    if (options['json']) stdout.write(`${JSON.stringify(chains, null, 2)}\n`)
    return chains.some(({ fault }) => fault !== null) ? 1 : 0
  })
}

function nameOf(tenantId: string): string {
  return tenantId === '' ? '(no tenant)' : tenantId
}

function inWords({ tenantId, head, rows, purged, erased, unchained, firstLink, fault }: VerifiedChain): string {
  const name = nameOf(tenantId)
  if (fault) return `BROKEN  ${name}: ${fault.message} (link ${fault.link})\n`
  if (!head) return `ok      ${name}: nothing is chained yet, ${numbered(unchained)} not chained\n`
  const remarks = [
    ...(firstLink > 1 ? [`begins with link ${firstLink}`] : []),
    ...(purged > 0 ? [`${numbered(purged)} removed by retention`] : []),
    ...(erased > 0 ? [`the words of ${numbered(erased)} erased`] : []),
    ...(unchained > 0 ? [`${numbered(unchained)} not chained yet`] : []),
  ]
  const rest = remarks.length > 0 ? `; ${remarks.join(', ')}` : ''
  return `ok      ${name}: ${numbered(rows)} in ${numbered(head.number - firstLink + 1, 'link')}${rest}\n        head ${head.hash}\n`
}

function numbered(count: number, noun = 'row'): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** Says now and then how far it is, to whoever watches. */
function reporter({ clock, stderr }: CommandCall, name: string): (rows: number) => void {
  let reportedAt = clock.monotonic()
  return (rows) => {
    if (clock.monotonic() - reportedAt < REPORT_EVERY_MS) return
    reportedAt = clock.monotonic()
    stderr.write(`        ${name}: ${numbered(rows)} so far\n`)
  }
}
