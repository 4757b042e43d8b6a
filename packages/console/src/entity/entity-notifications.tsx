import type { NotificationView } from '@pillarbox/client'
import { Link } from '@tanstack/react-router'
import type { Scope } from '../app/session.ts'
import { Blank } from '../parts/blank.tsx'
import { Heads } from '../parts/heads.tsx'
import { PagedList, usePaged } from '../parts/paged.tsx'
import { Panel } from '../parts/panel.tsx'
import { State } from '../parts/state.tsx'
import { addressOf, channelWord } from '../parts/to.tsx'
import { When } from '../parts/when.tsx'

export interface EntityQuery {
  entityType: string
  entityId: string
}

interface EntityNotificationsProps {
  of: EntityQuery
  scope: Scope
  /** In another application's frame: what is opened from it opens beside it. */
  isEmbedded: boolean
}

export function EntityNotifications({ of, scope, isEmbedded }: EntityNotificationsProps) {
  const list = usePaged<NotificationView>('/api/notifications', scope, { ...of, limit: 50 }, { everyMs: 10_000 })
  return (
    <Panel title="Notifications">
      <PagedList
        list={list}
        lines={3}
        blank={
          <Blank title="Nobody was told anything about it">
            Where an event about it was published, it stands below with what was decided.
          </Blank>
        }
      >
        {(notifications) => (
          <table className="rows cards">
            <Heads names={['state', 'to', 'channel', 'event', 'when', 'what happened']} />
            <tbody>
              {notifications.map((row) => (
                <tr key={row.id}>
                  <td>
                    <State status={row.status} />
                  </td>
                  <td data-wide="">
                    <Link
                      to="/notifications/$id"
                      params={{ id: row.id }}
                      data-row=""
                      {...(isEmbedded && { target: '_blank' })}
                    >
                      {addressOf(row.to, row.channel)}
                    </Link>
                  </td>
                  <td>{channelWord(row.channel)}</td>
                  <td>{row.eventType ?? 'sent by itself'}</td>
                  <td>
                    <When at={row.readAt ?? row.deliveredAt ?? row.sentAt ?? row.createdAt} />
                  </td>
                  <td data-wide="">
                    <span className="clip" title={row.lastError ?? undefined}>
                      {row.lastError ?? row.reason?.replaceAll('_', ' ') ?? ''}
                    </span>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </PagedList>
    </Panel>
  )
}
