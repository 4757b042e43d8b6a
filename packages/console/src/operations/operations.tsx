import { Group, NativeSelect, Stack, Text, Title } from '@mantine/core'
import type { Operation } from '@pillarbox/client'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useScope } from '../app/session.ts'
import { Blank } from '../parts/blank.tsx'
import { Heads } from '../parts/heads.tsx'
import { PagedList, usePaged } from '../parts/paged.tsx'
import { When } from '../parts/when.tsx'
import { actionWord, isOver, OPERATION_STATUSES, OperationState, operationWord, Progress } from './operation-words.tsx'

/** While one is under way it is looked at this often. */
const WATCH_MS = 1_500
const REST_MS = 15_000

/** What was done to very many at once, newest first. */
export function Operations() {
  const scope = useScope()
  const { status } = useSearch({ from: '/shell/operations' })
  const navigate = useNavigate({ from: '/operations' })
  const list = usePaged<Operation>(
    '/api/operations',
    scope,
    { status },
    { everyMs: (operations) => (operations.every(isOver) ? REST_MS : WATCH_MS) },
  )
  return (
    <Stack gap="md">
      <Title order={1}>Operations</Title>
      <Text c="dimmed">
        What was done to many notifications at once: who started it, how far it is, and what was left alone and why.
      </Text>
      <Group gap="xs" align="end" role="search">
        <NativeSelect
          label="State"
          value={status ?? ''}
          data={[
            { value: '', label: 'any' },
            ...OPERATION_STATUSES.map((each) => ({ value: each, label: operationWord(each) })),
          ]}
          onChange={({ currentTarget }) =>
            void navigate({ search: (old) => ({ ...old, status: currentTarget.value || undefined }), replace: true })
          }
          data-filter=""
        />
      </Group>
      <section className="panel" aria-label="Found">
        <PagedList
          list={list}
          blank={
            <Blank
              title={status ? 'None match' : 'Nothing was done to many yet'}
              action={
                <Link to="/notifications" search={{ group: 'cause' }}>
                  Look at what has stopped, by cause
                </Link>
              }
            >
              Tick rows among the notifications, or take a whole cause: what is done to them stands here, and can be
              paused, cancelled and, before it begins, undone.
            </Blank>
          }
        >
          {(operations) => <OperationTable operations={operations} />}
        </PagedList>
      </section>
    </Stack>
  )
}

function OperationTable({ operations }: { operations: readonly Operation[] }) {
  return (
    <table className="rows cards">
      <Heads names={['state', 'what', 'how far', 'who', 'started', 'note']} />
      <tbody>
        {operations.map((operation) => (
          <tr key={operation.id}>
            <td>
              <OperationState status={operation.status} />
            </td>
            <td>
              <Link to="/operations/$id" params={{ id: operation.id }} data-row="">
                {actionWord(operation)}
              </Link>
            </td>
            <td data-wide="">
              <Progress operation={operation} />
            </td>
            <td>{operation.by}</td>
            <td>
              <When at={operation.startedAt} />
            </td>
            <td data-wide="">
              <span className="clip">{operation.problem ?? operation.note}</span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
