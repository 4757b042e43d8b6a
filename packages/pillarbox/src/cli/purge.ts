import type { SandboxVendor } from '../channels/sandbox/vendor.ts'
import type { Config } from '../config/config.ts'
import { CLI } from '../model/audit.ts'
import { formatDuration } from '../model/duration.ts'
import type { Clock } from '../model/ports.ts'
import { parseRetention, RETENTION_RULE } from '../model/retention.ts'
import { type PurgeCounts, type PurgeDeps, type PurgeReport, type PurgeRequest, purgeByHand } from '../operate/purge.ts'
import { createIdSource } from '../runtime/ids.ts'
import { systemRandom } from '../runtime/system.ts'
import type { Store } from '../store/store.ts'
import { type CommandCall, openSandbox, refuseUnknownTenant, stopOnSignal, withStore } from './call.ts'
import { progressBar, progressLines } from './progress.ts'

/** Somebody waits for it, and others use the database: half of the time is theirs. */
const SHARE = 0.5

/** `purge`: removes what is over and old, and shows how far it is. Exit code 1 where it was stopped before the end. */
export function purgeStore(call: CommandCall): Promise<number> {
  const { options, stdout, clock } = call
  const olderThan = options['olderThan']
  const olderThanMs = olderThan === undefined ? null : parseRetention(String(olderThan))
  if (olderThan !== undefined && olderThanMs === null) call.refuse(`--older-than ${RETENTION_RULE}, not "${olderThan}"`)
  const tenantId = options['tenant'] === undefined ? null : String(options['tenant'])
  const isDryRun = options['dryRun'] === true
  return withStore(call, async (store, { config }) => {
    if (tenantId !== null) await refuseUnknownTenant(store, tenantId)
    const kept = await openSandbox(config, clock)
    const stopping = stopOnSignal(call)
    try {
      const deps = depsOf(store, config, clock, kept)
      const wanted = { olderThanMs, tenantId, actor: CLI, share: SHARE, stop: stopping.signal }
      stdout.write(`${describe(wanted, config)}\n`)
      const counted = stdout.isTerminal && !isDryRun ? await purgeByHand(deps, { ...wanted, isDryRun: true }) : null
      const show = counted ? progressBar(stdout, sum(counted.counts)) : progressLines(stdout.write, clock)
      const report = await purgeByHand(deps, { ...wanted, isDryRun, onProgress: (counts) => show.at(sum(counts)) })
      show.end()
      return tell(call, report, isDryRun)
    } finally {
      stopping.forget()
      kept?.close()
    }
  })
}

function depsOf(store: Store, { retentionMs }: Config, clock: Clock, sandbox: SandboxVendor | null): PurgeDeps {
  return { store, clock, ids: createIdSource(clock, systemRandom()), retentionMs, ...(sandbox && { sandbox }) }
}

function describe({ olderThanMs, tenantId }: Pick<PurgeRequest, 'olderThanMs' | 'tenantId'>, config: Config): string {
  const whose = tenantId === null ? 'every tenant' : `tenant ${tenantId}`
  return olderThanMs === null
    ? `what is past the retention of ${whose} (${formatDuration(config.retentionMs)} where none is set)`
    : `what is older than ${formatDuration(olderThanMs)}, of ${whose}`
}

function sum(counts: PurgeCounts): number {
  return Object.values(counts).reduce((total, count) => total + count, 0)
}

function tell({ stdout, stderr }: CommandCall, { counts, isDone }: PurgeReport, isDryRun: boolean): number {
  const verb = isDryRun ? 'would be removed' : 'removed'
  for (const [noun, count] of Object.entries(counts))
    if (count > 0) stdout.write(`  ${noun.padEnd(16)}${count} ${verb}\n`)
  if (sum(counts) === 0) stdout.write(`nothing ${isDryRun ? 'would be removed' : 'was removed'}\n`)
  if (isDone) return 0
  stderr.write('pillarbox: it was stopped before everything was looked at; run it again to go on\n')
  return 1
}
