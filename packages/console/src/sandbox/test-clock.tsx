import { Button, Group, Text } from '@mantine/core'
import { notifications as toasts } from '@mantine/notifications'
import type { TestClock } from '@pillarbox/client'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { call, get } from '../app/api.ts'
import { type Scope, useCanAct } from '../app/session.ts'
import { durationWords } from '../parts/duration.ts'
import { exact, useZone } from '../parts/when.tsx'

const STEPS = [
  { advance: 'PT1H', word: '+1 hour' },
  { advance: 'P1D', word: '+1 day' },
  { advance: 'P7D', word: '+1 week' },
]

/** Tomorrow, today: what waits is due as if the time had passed. */
export function TestClockBar({ scope }: { scope: Scope }) {
  const canAct = useCanAct()
  const zone = useZone()
  const queries = useQueryClient()
  const { data } = useQuery({
    queryKey: ['live', 'test-clock', scope.tenantId],
    queryFn: () => get<TestClock>('/api/sandbox/clock', scope.query),
    enabled: scope.tenantId !== null,
    refetchInterval: 30_000,
  })
  const move = useMutation({
    mutationFn: (body: { advance: string } | { reset: true }) =>
      call<TestClock & { schedules: number; notifications: number }>('POST', '/api/sandbox/clock', scope.query, body),
    onSuccess: async ({ now, schedules, notifications }) => {
      const moved = `${schedules} schedules and ${notifications} notifications moved with it.`
      toasts.show({ color: 'green', title: `It is ${exact(now, zone)}`, message: moved })
      await queries.invalidateQueries({ queryKey: ['live'] })
    },
    onError: (error) => toasts.show({ color: 'red', title: 'The clock stays as it is', message: error.message }),
  })
  if (!data) return null
  const isAhead = data.ahead !== 'PT0S'
  return (
    <Group gap={6} role="group" aria-label="Test clock">
      <Text size="sm" {...(isAhead ? { style: { color: 'var(--pbx-warn)' }, fw: 550 } : { c: 'dimmed' })}>
        {isAhead ? `▲ Clock ahead by ${durationWords(data.ahead)}: ${exact(data.now, zone)}` : 'Clock: real time'}
      </Text>
      {canAct &&
        STEPS.map(({ advance, word }) => (
          <Button
            key={word}
            size="xs"
            variant="default"
            loading={move.isPending}
            onClick={() => move.mutate({ advance })}
          >
            {word}
          </Button>
        ))}
      {canAct && isAhead && (
        <Button size="xs" variant="light" onClick={() => move.mutate({ reset: true })}>
          Back to real time
        </Button>
      )}
    </Group>
  )
}
