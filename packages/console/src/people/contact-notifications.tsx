import type { NotificationView } from '@pillarbox/client'
import type { Scope } from '../app/session.ts'
import { NotificationTable } from '../notifications/notification-table.tsx'
import { Blank } from '../parts/blank.tsx'
import { PagedList, usePaged } from '../parts/paged.tsx'
import { Panel } from '../parts/panel.tsx'

/** Everything one person was told, or was to be told. */
export function ContactNotifications({ contactId, scope }: { contactId: string; scope: Scope }) {
  const list = usePaged<NotificationView>('/api/notifications', scope, { contactId, limit: 20 })
  return (
    <Panel title="What they were told">
      <PagedList
        list={list}
        lines={3}
        blank={<Blank title="Nothing yet">What is sent to them stands here, on whichever channel.</Blank>}
      >
        {(notifications) => <NotificationTable rows={notifications.map((row) => ({ ...row, hasMoved: false }))} />}
      </PagedList>
    </Panel>
  )
}
