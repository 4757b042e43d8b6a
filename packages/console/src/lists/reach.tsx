import { Text } from '@mantine/core'
import type { ListReach } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { get } from '../app/api.ts'
import type { Scope } from '../app/session.ts'
import { Loading, Trouble } from '../parts/blank.tsx'
import { Heads } from '../parts/heads.tsx'
import { Panel } from '../parts/panel.tsx'
import { suppressionCause } from '../parts/suppression-cause.ts'
import { channelWord } from '../parts/to.tsx'

/** Before anything is sent: whom each channel reaches. */
export function Reach({ listId, scope }: { listId: string; scope: Scope }) {
  const { data, error } = useQuery({
    queryKey: ['live', 'reach', listId, scope.tenantId],
    queryFn: () => get<ListReach>(`/api/recipient-lists/${listId}/reach`, scope.query),
    staleTime: 30_000,
  })
  if (!data) return error ? <Trouble error={error} /> : <Loading lines={3} />
  return (
    <>
      <Panel title="Whom it reaches">
        <table className="rows cards">
          <Heads names={['channel', 'reachable', 'no address', 'suppressed', 'account']} />
          <tbody>
            {data.channels.map(({ channel, reachable, missing, suppressed, hasAccount }) => (
              <tr key={channel}>
                <td>{channelWord(channel)}</td>
                <td data-label="reachable">
                  <strong>{reachable.toLocaleString('en')}</strong> of {data.members.toLocaleString('en')}
                </td>
                <td data-label="no address">{missing.toLocaleString('en')}</td>
                <td
                  data-label="suppressed"
                  style={suppressed > 0 ? { color: 'var(--pbx-bad)', fontWeight: 600 } : undefined}
                >
                  {suppressed.toLocaleString('en')}
                </td>
                <td data-label="account">
                  {hasAccount ? 'active' : <span style={{ color: 'var(--pbx-warn)' }}>▲ none is active</span>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Panel>
      {data.unreachable.length > 0 && (
        <Panel title="Who is not reached, and why">
          <table className="rows cards">
            <Heads names={['member', 'channel', 'why', 'the provider’s words']} />
            <tbody>
              {data.unreachable.map(({ name, email, phone, channel, cause, error: words, suppressionId }) => (
                <tr key={`${suppressionId} ${channel}`}>
                  <td>
                    {name ?? 'without a name'}{' '}
                    <Text span c="dimmed">
                      {channel === 'email' ? email : phone}
                    </Text>
                  </td>
                  <td>{channelWord(channel)}</td>
                  <td>
                    <Link to="/contacts" search={{ tab: 'suppressed' }}>
                      {suppressionCause(cause)}
                    </Link>
                  </td>
                  <td data-wide="">{words}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Panel>
      )}
    </>
  )
}
