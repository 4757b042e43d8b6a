import { Alert, Button, Group, Modal, Text, Textarea } from '@mantine/core'
import { notifications as toasts } from '@mantine/notifications'
import type { NotificationDetail, NotificationStatus, NotificationView } from '@pillarbox/client'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError, call } from '../app/api.ts'
import { type Scope, useCanAct } from '../app/session.ts'

/** What may be done by hand, from which states, and what it says before it is done. */
interface Act {
  name: 'retry' | 'discard' | 'cancel' | 'park' | 'restore'
  word: string
  from: readonly NotificationStatus[]
  says: string
  isSending?: boolean
}

const STOPPED = ['parked', 'uncertain', 'skipped'] as const
const WAITING = ['queued', 'retrying'] as const

const ACTS: Act[] = [
  {
    name: 'retry',
    word: 'Retry',
    from: STOPPED,
    says: 'It is sent again: the same message to the same address, under the same idempotency key.',
    isSending: true,
  },
  { name: 'discard', word: 'Discard', from: STOPPED, says: 'It is given up, and can be restored later.' },
  { name: 'park', word: 'Park', from: WAITING, says: 'It is set aside until somebody retries or discards it.' },
  { name: 'cancel', word: 'Cancel', from: WAITING, says: 'It is never sent. This cannot be taken back.' },
  {
    name: 'restore',
    word: 'Restore',
    from: ['discarded'],
    says: 'It stands again where it stood before it was discarded.',
  },
]

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
  const [note, setNote] = useState('')
  const queries = useQueryClient()
  const perform = (name: Act['name'], why: string) =>
    call<NotificationView>(
      'POST',
      `/api/notifications/${id}/${name}`,
      scope.query,
      why === '' ? undefined : { note: why },
    )
  const mutation = useMutation({
    mutationFn: () => perform(act.name, note.trim()),
    onSuccess: async (after) => {
      close()
      toasts.show({ message: `It is ${after.status} now.`, color: 'green', title: `${act.word}: done` })
      await queries.invalidateQueries({ queryKey: ['live'] })
    },
  })
  const mayDouble = act.isSending && (status === 'uncertain' || possibleDuplicate)
  return (
    <Modal opened onClose={close} title={`${act.word} this notification`} closeButtonProps={{ 'aria-label': 'Close' }}>
      <Text mb="sm">{act.says}</Text>
      {mayDouble && (
        <Alert color="orange" variant="outline" mb="sm" title="It may arrive twice">
          Nobody knows whether an earlier try arrived. Where the provider does not honour idempotency keys, the
          recipient gets it again.
        </Alert>
      )}
      <Textarea
        label="Note"
        description="Why. It stays on record with your name."
        value={note}
        onChange={({ currentTarget }) => setNote(currentTarget.value)}
        autosize
        minRows={2}
        maxLength={500}
        data-autofocus
      />
      {mutation.error && (
        <Alert color="red" variant="outline" mt="sm" role="alert" title="It was not done">
          {mutation.error.message}
          {mutation.error instanceof ApiError && mutation.error.requestId && (
            <Text size="xs">Request {mutation.error.requestId}</Text>
          )}
        </Alert>
      )}
      <Group mt="md" justify="end">
        <Button variant="default" onClick={close}>
          Back
        </Button>
        <Button onClick={() => mutation.mutate()} loading={mutation.isPending}>
          {act.word}
        </Button>
      </Group>
    </Modal>
  )
}
