import { Text } from '@mantine/core'
import type { Kpis } from '@pillarbox/client'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { span } from '../parts/when.tsx'

type Total = Kpis['total']

/** A number that leads to what it counts. */
interface Tile {
  name: string
  figure: ReactNode
  below: string
  rule: string
  search: Record<string, string>
  isAlarming?: boolean
}

/** Beyond this the oldest that waits is worth a look. */
const OLD_SECONDS = 300

export function Tiles({ total }: { total: Total }) {
  const tiles: Tile[] = [
    {
      name: 'Queue',
      figure: count(total.queueDepth),
      below: `${count(total.scheduledDepth)} scheduled for later`,
      rule: 'Due, and waiting or being sent.',
      search: { status: 'queued,sending,retrying' },
    },
    {
      name: 'Stuck',
      figure: count(total.stuckCount),
      below: 'due for too long',
      rule: 'Due for longer than the server’s stuckAfter.',
      search: { stuck: 'true' },
      isAlarming: (total.stuckCount ?? 0) > 0,
    },
    {
      name: 'Parked',
      figure: count(total.parkedCount),
      below: 'wait for somebody',
      rule: 'Set aside after a failure that does not mend itself.',
      search: { status: 'parked', group: 'cause' },
      isAlarming: (total.parkedCount ?? 0) > 0,
    },
    {
      name: 'Uncertain',
      figure: count(total.uncertainCount),
      below: 'may have arrived',
      rule: 'Handed over, and nobody knows what became of it.',
      search: { status: 'uncertain' },
      isAlarming: (total.uncertainCount ?? 0) > 0,
    },
    {
      name: 'Sent, last minute',
      figure: count(total.sentLastInterval),
      below: `${count(total.deliveredLastInterval)} delivered`,
      rule: 'In the server’s kpiWindow. Delivered: a receipt says so, or none can come.',
      search: { status: 'sent,delivered,read' },
    },
    {
      name: 'Oldest pending',
      figure: total.oldestPendingAgeSeconds === null ? '–' : span(total.oldestPendingAgeSeconds * 1_000),
      below: total.oldestPendingAgeSeconds === null ? 'nothing waits' : 'since it was due',
      rule: 'How long the oldest that is due has waited.',
      search: { status: 'queued,retrying' },
      isAlarming: (total.oldestPendingAgeSeconds ?? 0) > OLD_SECONDS,
    },
  ]
  return (
    <div className="tiles">
      {tiles.map(({ name, figure, below, rule, search, isAlarming = false }) => (
        <Link key={name} to="/notifications" search={search} className="panel tile" title={rule}>
          <Text size="xs" c="dimmed" fw={550}>
            {name}
          </Text>
          <div className="figure" style={isAlarming ? { color: 'var(--pbx-bad)' } : undefined}>
            {isAlarming && <span aria-hidden="true">! </span>}
            {figure}
          </div>
          <Text size="xs" c="dimmed">
            {below}
          </Text>
        </Link>
      ))}
    </div>
  )
}

/** Never a false 0: what is not known says so. */
export function count(number: number | null | undefined): string {
  return number === null || number === undefined ? 'unknown' : number.toLocaleString('en')
}
