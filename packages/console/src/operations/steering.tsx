import { Button, Group } from '@mantine/core'
import { notifications as toasts } from '@mantine/notifications'
import type { Operation } from '@pillarbox/client'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../app/api.ts'
import { type Scope, useCanAct } from '../app/session.ts'
import { AskDialog } from '../parts/ask-dialog.tsx'

const RUNS: readonly Operation['status'][] = ['grace', 'canary', 'running']

/** Pause, resume and undo are at once, because each has a way back. To cancel has none, and is asked for. */
export function Steering({ operation, scope }: { operation: Operation; scope: Scope }) {
  const canAct = useCanAct()
  const queries = useQueryClient()
  const [isAsking, setAsking] = useState(false)
  const steer = (action: string): Promise<Operation> =>
    call<Operation>('POST', `/api/operations/${operation.id}/${action}`, scope.query)
  const mutation = useMutation({
    mutationFn: steer,
    onSuccess: (after) => {
      queries.setQueryData(['live', 'operation', after.id, scope.tenantId], after)
      return queries.invalidateQueries({ queryKey: ['live'] })
    },
    onError: (error) => toasts.show({ color: 'red', title: 'It goes on as it was', message: error.message }),
  })
  if (!canAct) return null
  const { status } = operation
  const isRunning = RUNS.includes(status)
  const button = (action: string, word: string, isFirst = false) => (
    <Button
      size="xs"
      variant={isFirst ? 'filled' : 'default'}
      loading={mutation.isPending && mutation.variables === action}
      onClick={() => mutation.mutate(action)}
    >
      {word}
    </Button>
  )
  return (
    <Group gap="xs">
      {status === 'grace' && button('undo', 'Undo', true)}
      {isRunning && button('pause', 'Pause')}
      {status === 'paused' && button('resume', 'Resume', true)}
      {(isRunning || status === 'paused') && (
        <Button size="xs" variant="default" onClick={() => setAsking(true)}>
          Cancel…
        </Button>
      )}
      {isAsking && (
        <AskDialog
          title="Stop this operation for good"
          word="Stop it"
          perform={() => steer('cancel')}
          done={({ done, total }) => `${done} of ${total} were done, and stay done.`}
          close={() => setAsking(false)}
        >
          What is done stays done; the rest is left as it is. It cannot be resumed.
        </AskDialog>
      )}
    </Group>
  )
}
