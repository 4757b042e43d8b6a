import { Alert, Button, Group } from '@mantine/core'
import type { Template } from '@pillarbox/client'
import { DiffView } from '../parts/diff-view.tsx'
import { When } from '../parts/when.tsx'
import { type Draft, draftOf, textOf } from './words.ts'

interface ConflictProps {
  theirs: Template
  mine: Draft
  takeTheirs: () => void
  keepMine: () => void
}

/** Two people changed the same words. Whoever comes second sees both, and decides. */
export function Conflict({ theirs, mine, takeTheirs, keepMine }: ConflictProps) {
  return (
    <Alert
      color="orange"
      variant="outline"
      role="alert"
      title={`${theirs.updatedBy} saved version ${theirs.version} meanwhile`}
    >
      <p style={{ margin: '0 0 8px' }}>
        It was <When at={theirs.updatedAt} />. What you typed is not lost, and not saved.
      </p>
      <DiffView
        label={`From version ${theirs.version} to what you typed`}
        before={textOf(draftOf(theirs))}
        after={textOf(mine)}
      />
      <Group gap="xs" mt="sm">
        <Button size="xs" variant="default" onClick={takeTheirs}>
          Take theirs, drop mine
        </Button>
        <Button size="xs" variant="default" onClick={keepMine}>
          Go on with mine, on top of theirs
        </Button>
      </Group>
    </Alert>
  )
}
