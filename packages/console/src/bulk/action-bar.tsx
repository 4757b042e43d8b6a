import { Button, Group, Text } from '@mantine/core'
import type { NotificationView } from '@pillarbox/client'
import { type Act, BULK_ACTS } from '../parts/acts.ts'
import type { Selection } from './selection.ts'

interface ActionBarProps {
  selection: Selection
  rows: readonly NotificationView[]
  /** What all that match stand at, where the filter says so. */
  statuses: readonly string[] | null
  act: (act: Act) => void
}

/** What can be done to the ticked rows. What cannot be done to any of them is there, and says so. */
export function ActionBar({ selection, rows, statuses, act }: ActionBarProps) {
  const ticked = rows.filter(({ id }) => selection.has(id))
  const shown = rows.map(({ id }) => id)
  const movable = ({ from }: Act): number => ticked.filter(({ status }) => from.includes(status)).length
  const isPossible = (each: Act): boolean => {
    if (selection.isAllMatching) return statuses === null || each.from.some((status) => statuses.includes(status))
    return movable(each) > 0
  }
  return (
    <section className="acts" aria-label="Acts on the ticked rows">
      <Text size="sm" aria-live="polite">
        {selection.isAllMatching
          ? 'All that match, shown here or not'
          : selection.count > 0
            ? `${selection.count} ticked`
            : 'Tick rows to act on them'}
      </Text>
      {!selection.isAllMatching && (
        <Button size="compact-xs" variant="subtle" onClick={() => selection.takeAllMatching(shown)}>
          Select all that match
        </Button>
      )}
      {(selection.count > 0 || selection.isAllMatching) && (
        <Button size="compact-xs" variant="subtle" onClick={selection.clear}>
          Clear
        </Button>
      )}
      <Group gap={6} ml="auto">
        {BULK_ACTS.map((each) => (
          <Button
            key={each.word}
            size="compact-xs"
            variant={each.isSending && !each.rerender && each.name === 'retry' ? 'filled' : 'default'}
            disabled={!isPossible(each)}
            title={isPossible(each) ? undefined : `It is for what is ${each.from.join(', ')}`}
            onClick={() => act(each)}
          >
            {each.word}
            {!selection.isAllMatching && movable(each) > 0 && ` ${movable(each)}`}…
          </Button>
        ))}
      </Group>
    </section>
  )
}
