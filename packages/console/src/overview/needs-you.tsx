import { Text } from '@mantine/core'
import type { Cause } from '@pillarbox/client'
import { Link } from '@tanstack/react-router'
import { CauseTable } from '../notifications/cause-table.tsx'
import { Blank, Loading, Trouble } from '../parts/blank.tsx'
import { Panel } from '../parts/panel.tsx'

const MOST_SHOWN = 6

/** What has stopped and waits for somebody, by what it has in common. */
export function NeedsYou({ causes, error }: { causes: Cause[] | null; error: unknown }) {
  const more = (causes?.length ?? 0) - MOST_SHOWN
  return (
    <Panel
      title="Needs you"
      aside={
        more > 0 && (
          <Link to="/notifications" search={{ group: 'cause', status: 'parked,uncertain' }}>
            {more} more {more === 1 ? 'cause' : 'causes'}
          </Link>
        )
      }
    >
      {causes === null ? (
        error ? (
          <Trouble error={error} />
        ) : (
          <Loading lines={2} />
        )
      ) : causes.length === 0 ? (
        <Blank title="Nothing needs you">
          <Text>What cannot be sent, or may have been sent twice, would stand here, grouped by its cause.</Text>
        </Blank>
      ) : (
        <CauseTable causes={causes.slice(0, MOST_SHOWN)} caption="Why notifications have stopped" search={{}} />
      )}
    </Panel>
  )
}
