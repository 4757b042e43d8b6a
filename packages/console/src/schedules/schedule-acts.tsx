import { Button, Group, Text } from '@mantine/core'
import type { Schedule, ScheduleStatus } from '@pillarbox/client'
import { useState } from 'react'
import { call } from '../app/api.ts'
import { type Scope, useCanAct } from '../app/session.ts'
import { AskDialog } from '../parts/ask-dialog.tsx'
import { scheduleWord } from './schedule-words.tsx'

interface ScheduleAct {
  name: 'approve' | 'reject' | 'send-now' | 'cancel' | 'replay'
  word: string
  from: readonly ScheduleStatus[]
  says: string
  isFirst?: boolean
}

const ACTS: ScheduleAct[] = [
  {
    name: 'approve',
    word: 'Approve',
    from: ['awaiting_approval'],
    says: 'It goes ahead when it is due, and at once if that is past: its recipients get a message.',
    isFirst: true,
  },
  { name: 'reject', word: 'Reject', from: ['awaiting_approval'], says: 'Nobody is told. This cannot be taken back.' },
  {
    name: 'send-now',
    word: 'Send now',
    from: ['pending'],
    says: 'Its recipients get their messages now instead of when it is due, in the words of that time.',
  },
  {
    name: 'cancel',
    word: 'Cancel',
    from: ['pending'],
    says: 'Nothing is made of it: nobody is told. This cannot be taken back.',
  },
  {
    name: 'replay',
    word: 'Replay',
    from: ['failed'],
    says: 'It is planned anew, from its beginning. Who was told by it before is not told twice.',
    isFirst: true,
  },
]

/** What may be done about a schedule as it stands. */
export function ScheduleActs({
  schedule,
  scope,
  isSmall = false,
}: {
  schedule: Schedule
  scope: Scope
  isSmall?: boolean
}) {
  const canAct = useCanAct()
  const [chosen, choose] = useState<ScheduleAct | null>(null)
  const possible = ACTS.filter(({ from }) => from.includes(schedule.status))
  if (!canAct) return null
  return (
    <>
      <Group gap={6} wrap="nowrap">
        {possible.map((act) => (
          <Button
            key={act.name}
            size={isSmall ? 'compact-xs' : 'xs'}
            variant={act.isFirst && !isSmall ? 'filled' : 'default'}
            onClick={() => choose(act)}
          >
            {act.word}…
          </Button>
        ))}
      </Group>
      {chosen && (
        <AskDialog
          title={`${chosen.word}: ${schedule.eventType}`}
          word={chosen.word}
          takesNote
          perform={(reason) =>
            call<Schedule>(
              'POST',
              `/api/automation-schedules/${schedule.id}/${chosen.name}`,
              scope.query,
              reason === '' ? undefined : { reason },
            )
          }
          done={({ status }) => `It is ${scheduleWord(status)} now.`}
          close={() => choose(null)}
        >
          <Text mb="sm">
            About {schedule.entity.type} {schedule.entity.id}. {chosen.says}
          </Text>
        </AskDialog>
      )}
    </>
  )
}
