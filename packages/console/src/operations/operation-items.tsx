import { SegmentedControl } from '@mantine/core'
import type { Operation, OperationItem } from '@pillarbox/client'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import type { Scope } from '../app/session.ts'
import { Blank } from '../parts/blank.tsx'
import { Heads } from '../parts/heads.tsx'
import { type Look, Mark, SHAPES } from '../parts/mark.tsx'
import { PagedList, usePaged } from '../parts/paged.tsx'
import { Panel } from '../parts/panel.tsx'
import { isOver } from './operation-words.tsx'

const OUTCOMES: Record<string, Look & { word: string }> = {
  done: { word: 'done', tone: 'good', shape: SHAPES.tick, means: 'It was moved.' },
  left_alone: {
    word: 'left alone',
    tone: 'calm',
    shape: SHAPES.dash,
    means: 'It had moved since it was chosen.',
  },
  failed: { word: 'failed', tone: 'bad', shape: SHAPES.cross, means: 'It could not be moved.' },
}
const NOT_YET: Look = { tone: 'calm', shape: SHAPES.ring, means: 'Nothing was done about it yet.' }

/** What became of each notification; those that were left alone or failed say why. */
export function OperationItems({ operation, scope }: { operation: Operation; scope: Scope }) {
  const { outcome } = useSearch({ from: '/shell/operations/$id' })
  const navigate = useNavigate({ from: '/operations/$id' })
  const list = usePaged<OperationItem>(
    `/api/operations/${operation.id}/items`,
    scope,
    { outcome },
    { everyMs: isOver(operation) ? false : 3_000 },
  )
  return (
    <Panel
      title="What became of each"
      aside={
        <SegmentedControl
          size="xs"
          aria-label="Outcome"
          value={outcome ?? ''}
          data={[
            { value: '', label: 'all' },
            ...Object.entries(OUTCOMES).map(([value, { word }]) => ({ value, label: word })),
          ]}
          onChange={(value) =>
            void navigate({ search: (old) => ({ ...old, outcome: value || undefined }), replace: true })
          }
        />
      }
    >
      <PagedList list={list} word="More" blank={<Blank title="None" />}>
        {(items) => <ItemTable items={items} />}
      </PagedList>
    </Panel>
  )
}

function ItemTable({ items }: { items: readonly OperationItem[] }) {
  return (
    <table className="rows cards">
      <Heads names={['outcome', 'notification', 'why']} />
      <tbody>
        {items.map(({ place, notificationId, outcome, why, resultId }) => {
          const look = OUTCOMES[outcome ?? '']
          return (
            <tr key={place}>
              <td>
                <Mark look={look ?? NOT_YET} word={look?.word ?? 'not yet'} />
              </td>
              <td data-wide="">
                <Link to="/notifications/$id" params={{ id: notificationId }} className="mono" data-row="">
                  {notificationId}
                </Link>
              </td>
              <td data-wide="">
                {why}
                {resultId !== null && (
                  <Link to="/notifications/$id" params={{ id: resultId }}>
                    sent as another
                  </Link>
                )}
              </td>
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}
