import type { NotificationView } from '@pillarbox/client'
import type { Scope } from '../app/session.ts'
import { NotificationTable } from '../notifications/notification-table.tsx'
import { Blank, Loading, Trouble } from '../parts/blank.tsx'
import { Older, usePaged } from '../parts/paged.tsx'
import { Panel } from '../parts/panel.tsx'

/** Everything one person was told, or was to be told. */
export function ContactNotifications({ contactId, scope }: { contactId: string; scope: Scope }) {
  const list = usePaged<NotificationView>('/api/notifications', scope, { contactId, limit: 20 })
  return (
    <Panel title="What they were told">
      {!list.items ? (
        list.error ? (
          <Trouble error={list.error} retry={() => void list.refetch()} />
        ) : (
          <Loading lines={3} />
        )
      ) : list.items.length === 0 ? (
        <Blank title="Nothing yet">What is sent to them stands here, on whichever channel.</Blank>
      ) : (
        <NotificationTable rows={list.items.map((row) => ({ ...row, hasMoved: false }))} />
      )}
      <Older list={list} />
    </Panel>
  )
}
