import type { NotificationDetail, NotificationView } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { get } from '../app/api.ts'
import { type Scope, useCanAct } from '../app/session.ts'
import { Blank, Loading, Trouble } from '../parts/blank.tsx'
import { Older, usePaged } from '../parts/paged.tsx'
import { State } from '../parts/state.tsx'
import { channelWord } from '../parts/to.tsx'
import { When } from '../parts/when.tsx'

/** What was said, oldest first, each with its channel and where it stands. What recipients answer does not come here yet. */
export function Thread({ conversationId, scope }: { conversationId: string; scope: Scope }) {
  const list = usePaged<NotificationView>('/api/notifications', scope, { conversationId, limit: 30 })
  if (!list.items) return list.error ? <Trouble error={list.error} retry={() => void list.refetch()} /> : <Loading />
  if (list.items.length === 0 && !list.hasNextPage) return <Blank title="Nothing was said yet" />
  return (
    <>
      <Older list={list} word="Earlier" />
      <div role="log" aria-label="Messages, oldest first">
        <ol className="thread">
          {list.items.toReversed().map((notification) => (
            <li key={notification.id}>
              <Bubble notification={notification} scope={scope} />
              <div className="under">
                <span>{channelWord(notification.channel)}</span>
                <State status={notification.status} />
                <When at={notification.sentAt ?? notification.createdAt} />
                <Link to="/notifications/$id" params={{ id: notification.id }} data-row="">
                  {notification.eventType ?? 'notification'}
                </Link>
              </div>
            </li>
          ))}
        </ol>
      </div>
    </>
  )
}

/** Lists have no words: each message is asked for by itself, by those who may read it. */
function Bubble({ notification: { id, reason }, scope }: { notification: NotificationView; scope: Scope }) {
  const canRead = useCanAct()
  const { data } = useQuery({
    queryKey: ['live', 'notification', id, scope.tenantId],
    queryFn: () => get<NotificationDetail>(`/api/notifications/${id}`, scope.query),
    enabled: canRead,
    staleTime: 60_000,
  })
  const words = data?.content && (data.content.subject ?? data.content.body)
  return (
    <div className="bubble" style={words ? undefined : { color: 'var(--mantine-color-dimmed)' }}>
      {words ??
        (canRead
          ? (reason?.replaceAll('_', ' ') ?? 'no words are kept')
          : 'A viewer does not see what is written to people.')}
    </div>
  )
}
