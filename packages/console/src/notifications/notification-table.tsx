import { Link } from '@tanstack/react-router'
import type { KeyboardEvent } from 'react'
import type { Selection } from '../bulk/selection.ts'
import { State } from '../parts/state.tsx'
import { addressOf, channelWord } from '../parts/to.tsx'
import { When } from '../parts/when.tsx'
import type { StillRow } from './still-list.ts'

interface NotificationTableProps {
  rows: readonly StillRow[]
  /** What they are about, and when they were made, stands elsewhere on the page. */
  isOfOneEvent?: boolean
  /** Where rows can be ticked. */
  selection?: Selection | null
  /** A key was pressed on a row that asks for an act on what is ticked. */
  onActKey?: (key: string, id: string) => void
}

export function NotificationTable({ rows, isOfOneEvent = false, selection = null, onActKey }: NotificationTableProps) {
  const shown = rows.map(({ id }) => id)
  const isAllTicked = selection !== null && rows.length > 0 && shown.every((id) => selection.has(id))
  const columns = isOfOneEvent
    ? ['state', 'to', 'channel', 'tries', 'what happened']
    : ['state', 'to', 'channel', 'about', 'tries', 'made', 'what happened']
  return (
    <table
      className="rows cards"
      onKeyDown={selection ? (event) => onKey(event, selection, shown, onActKey) : undefined}
    >
      <caption style={{ position: 'absolute', width: 1, height: 1, overflow: 'hidden', clipPath: 'inset(50%)' }}>
        Notifications, newest first
      </caption>
      <thead>
        <tr>
          {selection && (
            <th scope="col" className="tick">
              <input
                type="checkbox"
                aria-label="Tick all that are shown"
                checked={isAllTicked}
                onChange={() => selection.set(isAllTicked ? [] : shown)}
              />
            </th>
          )}
          {columns.map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.id} data-moved={row.hasMoved ? '' : undefined} data-id={row.id}>
            {selection && (
              <td className="tick">
                <input
                  type="checkbox"
                  aria-label={`Tick ${channelWord(row.channel)} to ${addressOf(row.to, row.channel)}`}
                  checked={selection.has(row.id)}
                  onChange={({ nativeEvent }) => selection.toggle(row.id, shown, isWithShift(nativeEvent))}
                />
              </td>
            )}
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

function isWithShift(event: Event): boolean {
  return event instanceof MouseEvent && event.shiftKey
}

/** `x` ticks the row, with shift all from the one before; the letters of acts are passed on. */
function onKey(
  event: KeyboardEvent,
  selection: Selection,
  shown: readonly string[],
  onActKey: NotificationTableProps['onActKey'],
): void {
  const id = (event.target as HTMLElement).closest<HTMLElement>('tr[data-id]')?.dataset['id']
  if (id === undefined || event.ctrlKey || event.metaKey || event.altKey) return
  if (event.key.toLowerCase() === 'x') selection.toggle(id, shown, event.shiftKey)
  else if (event.key === 'Escape') selection.clear()
  else onActKey?.(event.key, id)
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
