import { Group, Stack, Text, Title } from '@mantine/core'
import { Link, useParams, useSearch } from '@tanstack/react-router'
import { useScope } from '../app/session.ts'
import { EntityEvents } from './entity-events.tsx'
import { EntityNotifications } from './entity-notifications.tsx'
import { EntitySchedules } from './entity-schedules.tsx'

/** Everything that one entity's people were told, will be told, and were not told, and why. */
export function Entity() {
  const { type, id } = useParams({ from: '/shell/entities/$type/$id' })
  const { embed } = useSearch({ from: '/shell/entities/$type/$id' })
  const scope = useScope()
  const of = { entityType: type, entityId: id }
  return (
    <Stack gap="md">
      {embed !== '1' && (
        <Text size="sm">
          <Link to="/events">Events</Link>
        </Text>
      )}
      <Group justify="space-between">
        <Title order={1} style={{ overflowWrap: 'anywhere' }}>
          {type} {id}
        </Title>
        {embed === '1' && (
          <Link to="/entities/$type/$id" params={{ type, id }} target="_blank">
            Open in the console
          </Link>
        )}
      </Group>
      <EntityNotifications of={of} scope={scope} isEmbedded={embed === '1'} />
      <EntitySchedules of={of} scope={scope} />
      <EntityEvents of={of} scope={scope} />
    </Stack>
  )
}
