import { Alert, Button, Group, Text } from '@mantine/core'
import type { NotificationDetail, NotificationView } from '@pillarbox/client'
import { useState } from 'react'
import { call } from '../app/api.ts'
import { type Scope, useCanAct } from '../app/session.ts'
import { ACTS, type Act } from '../parts/acts.ts'
import { AskDialog } from '../parts/ask-dialog.tsx'

export function Acts({ notification, scope }: { notification: NotificationDetail; scope: Scope }) {
  const canAct = useCanAct()
  const [chosen, choose] = useState<Act | null>(null)
  const possible = ACTS.filter(({ from }) => from.includes(notification.status))
  if (!canAct)
    return (
      <Text size="sm" c="dimmed">
        You look on as a viewer: acting needs an operator’s key.
      </Text>
    )
  return (
    <>
      <Group gap="xs">
        {possible.map((act) => (
          <Button key={act.name} size="xs" variant={act.isSending ? 'filled' : 'default'} onClick={() => choose(act)}>
            {act.word}…
          </Button>
        ))}
      </Group>
      {chosen && <ActDialog act={chosen} notification={notification} scope={scope} close={() => choose(null)} />}
    </>
  )
}

interface DialogProps {
  act: Act
  notification: NotificationDetail
  scope: Scope
  close: () => void
}

function ActDialog({ act, notification, scope, close }: DialogProps) {
  const { id, status, possibleDuplicate } = notification
  const mayDouble = act.isSending && (status === 'uncertain' || possibleDuplicate)
  return (
    <AskDialog
      title={`${act.word} this notification`}
      word={act.word}
      takesNote
      perform={(note) =>
        call<NotificationView>(
          'POST',
          `/api/notifications/${id}/${act.name}`,
          scope.query,
          note === '' ? undefined : { note },
        )
      }
      done={(after) => `It is ${after.status} now.`}
      close={close}
    >
      <Text mb="sm">{act.says}</Text>
      {mayDouble && (
        <Alert color="orange" variant="outline" mb="sm" title="It may arrive twice">
          Nobody knows whether an earlier try arrived. Where the provider does not honour idempotency keys, the
          recipient gets it again.
        </Alert>
      )}
    </AskDialog>
  )
}
