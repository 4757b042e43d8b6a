import type { AuditEntry } from '@pillarbox/client'
import { Link } from '@tanstack/react-router'
import { Heads } from '../parts/heads.tsx'
import { When } from '../parts/when.tsx'
import { Changes } from './changes.tsx'

export function EntryTable({ entries, showsTenant }: { entries: readonly AuditEntry[]; showsTenant: boolean }) {
  return (
    <table className="rows cards">
      <Heads names={['when', ...(showsTenant ? ['tenant'] : []), 'who', 'did', 'to what', 'outcome', 'why']} />
      <tbody>
        {entries.map((entry) => (
          <tr key={entry.id}>
            <td>
              <When at={entry.at} />
            </td>
            {showsTenant && <td>{entry.tenantId ?? '–'}</td>}
            <td>
              <Link to="/audit" search={(old) => ({ ...old, actor: entry.actor })}>
                {entry.actor}
              </Link>
            </td>
            <td>
              <strong>{entry.action}</strong>
              {entry.attempt !== null && ` ${entry.attempt}`}
            </td>
            <td data-wide="">
              <Target entry={entry} />
            </td>
            <td>{[entry.from, entry.to].filter((each) => each !== null).join(' → ')}</td>
            <td data-wide="" style={{ overflowWrap: 'anywhere' }}>
              {entry.note ?? entry.reason ?? ''}
              <Changes before={entry.before} after={entry.after} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** What it was done to, as a way there. */
function Target({ entry: { notificationId, subject } }: { entry: AuditEntry }) {
  if (notificationId !== null)
    return (
      <Link to="/notifications/$id" params={{ id: notificationId }} className="mono" data-row="">
        {notificationId}
      </Link>
    )
  if (subject === null) return null
  return (
    <Link
      to="/audit"
      search={(old) => ({ ...old, target: subject })}
      className="mono"
      data-row=""
      style={{ overflowWrap: 'anywhere' }}
    >
      {subject}
    </Link>
  )
}
