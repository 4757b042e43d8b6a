import { SegmentedControl, Stack, Title } from '@mantine/core'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useScope } from '../app/session.ts'
import { ByCause } from './by-cause.tsx'
import type { Filter } from './filter.ts'
import { Filters } from './filters.tsx'
import { Rows } from './rows.tsx'

/** The ledger, narrowed by what the address says. */
export function Notifications() {
  const scope = useScope()
  const filter: Filter = useSearch({ from: '/shell/notifications' })
  const navigate = useNavigate({ from: '/notifications' })
  const isByCause = filter.group === 'cause'
  const narrow = (changes: Filter): void => {
    const next = Object.entries({ ...filter, ...changes }).filter(([, value]) => value !== undefined && value !== '')
    void navigate({ search: Object.fromEntries(next), replace: true })
  }
  return (
    <Stack gap="md">
      <Title order={1}>Notifications</Title>
      <Filters filter={filter} narrow={narrow} />
      <SegmentedControl
        size="xs"
        aria-label="Show"
        value={isByCause ? 'cause' : 'rows'}
        data={[
          { value: 'rows', label: 'One by one' },
          { value: 'cause', label: 'By cause' },
        ]}
        onChange={(value) => narrow({ group: value === 'cause' ? 'cause' : undefined })}
        style={{ alignSelf: 'start' }}
      />
      <section className="panel" aria-label="Found">
        {isByCause ? <ByCause scope={scope} filter={filter} /> : <Rows scope={scope} filter={filter} />}
      </section>
    </Stack>
  )
}
