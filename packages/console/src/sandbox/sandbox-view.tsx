import { Text } from '@mantine/core'
import type { NotificationDetail, SandboxMessage } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { get } from '../app/api.ts'
import { type Scope, useCanAct } from '../app/session.ts'
import { FactList } from '../parts/fact-list.tsx'
import { Panel } from '../parts/panel.tsx'
import { State } from '../parts/state.tsx'
import { addressOf } from '../parts/to.tsx'
import { At } from '../parts/when.tsx'
import { RecipientView } from './recipient-view.tsx'
import { Reports } from './reports.tsx'

interface SandboxViewProps {
  message: SandboxMessage
  others: readonly SandboxMessage[]
  scope: Scope
}

/** One message as its recipient would see it, what it came of, and what the pretend vendor can say of it. */
export function SandboxView({ message, others, scope }: SandboxViewProps) {
  const canAct = useCanAct()
  const { data } = useQuery({
    queryKey: ['live', 'notification', message.notificationId, scope.tenantId],
    queryFn: () => get<NotificationDetail>(`/api/notifications/${message.notificationId}`, scope.query),
    retry: false,
  })
  return (
    <Panel title={`To ${addressOf(message.to, message.channel)}`} aside={data && <State status={data.status} />}>
      <div className="inside">
        {canAct ? (
          <RecipientView message={message} notification={data} others={others} scope={scope} />
        ) : (
          <Text c="dimmed">A viewer does not see what is written to people.</Text>
        )}
        {message.duplicateOf !== null && (
          <Text mt="sm" style={{ color: 'var(--pbx-warn)' }}>
            The vendor had a message with this key already: its recipient got it twice.
          </Text>
        )}
        {canAct && <Reports message={message} scope={scope} />}
        <div style={{ marginTop: 16 }}>
          <FactList
            facts={{
              arrived: <At at={message.acceptedAt} />,
              try: message.attempt,
              key: <span className="mono">{message.key}</span>,
              notification: (
                <Link to="/notifications/$id" params={{ id: message.notificationId }}>
                  {message.notificationId}
                </Link>
              ),
            }}
          />
        </div>
      </div>
    </Panel>
  )
}
