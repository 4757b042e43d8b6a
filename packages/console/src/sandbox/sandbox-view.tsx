import { Text } from '@mantine/core'
import type { NotificationDetail, SandboxMessage } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { get } from '../app/api.ts'
import type { Scope } from '../app/session.ts'
import { Content, Words } from '../notification/content.tsx'
import { Panel } from '../parts/panel.tsx'
import { addressOf } from '../parts/to.tsx'
import { At } from '../parts/when.tsx'

/** One message as its recipient would see it, and what it came of. */
export function SandboxView({ message, scope }: { message: SandboxMessage; scope: Scope }) {
  // What the sandbox took is what the notification says; that knows whether it is HTML.
  const { data } = useQuery({
    queryKey: ['live', 'notification', message.notificationId, scope.tenantId],
    queryFn: () => get<NotificationDetail>(`/api/notifications/${message.notificationId}`, scope.query),
    retry: false,
  })
  return (
    <Panel title={`To ${addressOf(message.to, message.channel)}`}>
      <div className="inside">
        {data?.content ? (
          <Content notification={data} scope={scope} />
        ) : (
          <Words channel={message.channel} body={message.body} />
        )}
        <dl className="facts" style={{ marginTop: 16 }}>
          <dt>to</dt>
          <dd>{addressOf(message.to, message.channel)}</dd>
          <dt>arrived</dt>
          <dd>
            <At at={message.acceptedAt} />
          </dd>
          <dt>try</dt>
          <dd>{message.attempt}</dd>
          <dt>key</dt>
          <dd className="mono">{message.key}</dd>
          <dt>notification</dt>
          <dd>
            <Link to="/notifications/$id" params={{ id: message.notificationId }}>
              {message.notificationId}
            </Link>
          </dd>
        </dl>
        {message.duplicateOf !== null && (
          <Text mt="sm" style={{ color: 'var(--pbx-warn)' }}>
            The vendor had a message with this key already.
          </Text>
        )}
      </div>
    </Panel>
  )
}
