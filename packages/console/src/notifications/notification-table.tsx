import { Link } from '@tanstack/react-router'
import { State } from '../parts/state.tsx'
import { addressOf, channelWord } from '../parts/to.tsx'
import { When } from '../parts/when.tsx'
import type { StillRow } from './still-list.ts'

/** `isOfOneEvent`: what they are about, and when they were made, stands elsewhere on the page. */
export function NotificationTable({
  rows,
  isOfOneEvent = false,
}: {
  rows: readonly StillRow[]
  isOfOneEvent?: boolean
}) {
  const columns = isOfOneEvent
    ? ['state', 'to', 'channel', 'tries', 'what happened']
    : ['state', 'to', 'channel', 'about', 'tries', 'made', 'what happened']
  return (
    <table className="rows cards">
      <caption style={{ position: 'absolute', width: 1, height: 1, overflow: 'hidden', clipPath: 'inset(50%)' }}>
        Notifications, newest first
      </caption>
      <thead>
        <tr>
          {columns.map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.id} data-moved={row.hasMoved ? '' : undefined}>
            <td>
              <State status={row.status} />
              {row.stuck && <strong style={{ color: 'var(--pbx-bad)' }}> stuck</strong>}
            </td>
            <td data-wide="">
              <Link to="/notifications/$id" params={{ id: row.id }} data-row="">
                {addressOf(row.to, row.channel)}
              </Link>
            </td>
            <td>{channelWord(row.channel)}</td>
            {!isOfOneEvent && (
              <td>
                {row.eventType ?? 'sent by itself'}
                {row.entity && (
                  <span style={{ color: 'var(--mantine-color-dimmed)' }}>
                    {' '}
                    {row.entity.type} {row.entity.id}
                  </span>
                )}
              </td>
            )}
            <td data-label="tries">{row.attemptCount}</td>
            {!isOfOneEvent && (
              <td>
                <When at={row.createdAt} />
              </td>
            )}
            <td data-wide="">
              <span className="clip" title={row.lastError ?? undefined}>
                <WhatHappened row={row} />
              </span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function WhatHappened({ row }: { row: StillRow }) {
  if (row.lastError !== null) return row.lastError
  if (row.reason !== null) return row.reason
  if (row.status === 'queued' && row.nextAttemptAt !== null && Date.parse(row.nextAttemptAt) > Date.now())
    return (
      <>
        due <When at={row.nextAttemptAt} />
      </>
    )
  if (row.possibleDuplicate) return 'may have arrived twice'
  return null
}
