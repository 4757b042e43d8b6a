import type { Kpis } from '@pillarbox/client'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { get } from '../app/api.ts'
import type { Scope } from '../app/session.ts'
import { Heads } from '../parts/heads.tsx'
import { Panel } from '../parts/panel.tsx'
import { channelWord } from '../parts/to.tsx'
import { span } from '../parts/when.tsx'
import { boundsOf, type Range } from './ranges.ts'
import { count } from './tiles.tsx'

/** The same numbers for each channel that has some. */
export function ByChannel({ scope, range }: { scope: Scope; range: Range }) {
  const { data } = useQuery({
    queryKey: ['live', 'by-channel', scope.tenantId, range.name],
    queryFn: () => get<Kpis>('/api/kpis', { ...scope.query, ...boundsOf(range), by: 'channel' }),
    placeholderData: keepPreviousData,
    refetchInterval: 30_000,
  })
  const groups = (data?.groups ?? []).flatMap((group) => (group.channel ? [{ ...group, channel: group.channel }] : []))
  if (groups.length === 0) return null
  return (
    <Panel title={`By channel, ${range.words}`}>
      <div style={{ overflowX: 'auto' }}>
        <table className="rows">
          <Heads names={['channel', 'queue', 'stuck', 'parked', 'sent', 'delivered', 'event to sent, p95']} />
          <tbody>
            {groups.map(({ channel, queueDepth, stuckCount, parkedCount, counts, latency }) => (
              <tr key={channel}>
                <th scope="row">
                  <Link to="/notifications" search={{ channel }}>
                    {channelWord(channel)}
                  </Link>
                </th>
                <td>{count(queueDepth)}</td>
                <td>{count(stuckCount)}</td>
                <td>{count(parkedCount)}</td>
                <td>{count(counts?.sent)}</td>
                <td>{count(counts?.delivered)}</td>
                <td>{latency.eventToSent.p95 === null ? '–' : span(latency.eventToSent.p95)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  )
}
