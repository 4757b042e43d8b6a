import type { NotificationDetail } from '@pillarbox/client'
import { Heads } from '../parts/heads.tsx'
import { Panel } from '../parts/panel.tsx'
import { At } from '../parts/when.tsx'

/** What is on record about it, newest first. */
export function AuditTrail({ audit }: { audit: NotificationDetail['audit'] }) {
  if (audit.length === 0) return null
  return (
    <Panel title="On record">
      <table className="rows cards">
        <Heads names={['when', 'who', 'did', 'from and to', 'why']} />
        <tbody>
          {audit.toReversed().map(({ at, actor, action, from, to, note, reason, attempt }) => (
            <tr key={`${at} ${actor} ${action} ${attempt} ${to}`}>
              <td>
                <At at={at} />
              </td>
              <td>{actor}</td>
              <td>{action}</td>
              <td>{[from, to].filter((each) => each !== null).join(' → ')}</td>
              <td style={{ overflowWrap: 'anywhere' }}>{note ?? reason ?? ''}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  )
}
