import { Button, Group, Text } from '@mantine/core'
import { notifications as toasts } from '@mantine/notifications'
import type { SandboxMessage } from '@pillarbox/client'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { call } from '../app/api.ts'
import type { Scope } from '../app/session.ts'

const KINDS = ['delivered', 'read', 'bounced', 'complained', 'failed']

/** What a vendor would tell later of the message, told when a button is pressed. */
export function Reports({ message, scope }: { message: SandboxMessage; scope: Scope }) {
  const queries = useQueryClient()
  const report = useMutation({
    mutationFn: (kind: string) => call('POST', `/api/sandbox/messages/${message.id}/receipts`, scope.query, { kind }),
    onSuccess: async (_, kind) => {
      toasts.show({
        color: 'green',
        title: `Reported: ${kind}`,
        message: 'A worker reads it like any vendor’s callback.',
      })
      await queries.invalidateQueries({ queryKey: ['live'] })
    },
    onError: (error) => toasts.show({ color: 'red', title: 'It was not reported', message: error.message }),
  })
  return (
    <div style={{ marginTop: 16 }}>
      <Text size="xs" c="dimmed" fw={550} mb={4}>
        Let the vendor report
      </Text>
      <Group gap={6}>
        {KINDS.map((kind) => (
          <Button
            key={kind}
            size="xs"
            variant="default"
            disabled={report.isPending}
            onClick={() => report.mutate(kind)}
          >
            {kind}
          </Button>
        ))}
      </Group>
    </div>
  )
}
