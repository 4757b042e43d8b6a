import './catalogue.css'
import { Button, Group, Stack, Text, TextInput, Title } from '@mantine/core'
import type { EventType } from '@pillarbox/client'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useCatalogue } from '../app/event-types.ts'
import { useCanConfigure, useScope } from '../app/session.ts'
import { Blank, Loading, Trouble } from '../parts/blank.tsx'
import { Heads } from '../parts/heads.tsx'
import { deliveryWords, onceWords, TimingLine } from './event-type-words.tsx'

/** What events mean: who is told, when, on which channels. */
export function CatalogueScreen() {
  const scope = useScope()
  const { q = '' } = useSearch({ from: '/shell/catalogue' })
  const navigate = useNavigate({ from: '/catalogue' })
  const canConfigure = useCanConfigure()
  const { data, error, refetch } = useCatalogue(scope)
  const found = data?.items.filter(({ name, description = '' }) =>
    `${name} ${description}`.toLowerCase().includes(q.toLowerCase()),
  )
  const importOne = (
    <Button size="xs" renderRoot={(props) => <Link to="/catalogue/import" {...props} />}>
      Edit or import
    </Button>
  )
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <Title order={1}>Catalogue</Title>
        {canConfigure && importOne}
      </Group>
      <TextInput
        label="Search"
        placeholder="a name, or what it means"
        value={q}
        onChange={({ currentTarget }) =>
          void navigate({ search: { q: currentTarget.value || undefined }, replace: true })
        }
        data-filter=""
        maw={300}
      />
      <section className="panel" aria-label="Event types">
        {!found ? (
          error ? (
            <Trouble error={error} retry={() => void refetch()} />
          ) : (
            <Loading />
          )
        ) : found.length === 0 ? (
          <Blank title={q ? 'None match' : 'There is no event type yet'} action={canConfigure && importOne}>
            The catalogue says which events there are, whom each tells, when, and on which channels. It is a file: write
            it here, or import one.
          </Blank>
        ) : (
          <EventTypeTable types={found} />
        )}
      </section>
      {data && data.version > 0 && (
        <Text size="sm" c="dimmed">
          version {data.version}, {data.items.length} event types about{' '}
          {Object.keys(data.entities).join(', ') || 'nothing'}
        </Text>
      )}
    </Stack>
  )
}

function EventTypeTable({ types }: { types: readonly EventType[] }) {
  return (
    <table className="rows cards">
      <Heads names={['event type', 'when it is told', 'on', 'how often', 'templates']} />
      <tbody>
        {types.map((type) => (
          <tr key={type.name}>
            <td data-wide="">
              <Link to="/catalogue/$name" params={{ name: type.name }} data-row="">
                {type.name}
              </Link>
              <span style={{ display: 'block', color: 'var(--mantine-color-dimmed)' }}>{type.description}</span>
            </td>
            <td data-wide="">
              <TimingLine eventType={type} />
            </td>
            <td data-wide="">{deliveryWords(type)}</td>
            <td data-wide="">{onceWords(type)}</td>
            <td data-label="templates">
              <Link to="/templates" search={{ eventType: type.name }}>
                {type.templateCount}
              </Link>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
