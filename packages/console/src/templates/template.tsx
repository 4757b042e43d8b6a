import './templates.css'
import { Alert, Group, SegmentedControl, Stack, Text, Title } from '@mantine/core'
import type { Template as TemplateOf } from '@pillarbox/client'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { get } from '../app/api.ts'
import { useCatalogue } from '../app/event-types.ts'
import { useCanConfigure, useScope } from '../app/session.ts'
import { Loading, Trouble } from '../parts/blank.tsx'
import { channelWord } from '../parts/to.tsx'
import { When } from '../parts/when.tsx'
import { Editing } from './editing.tsx'
import { Matrix } from './matrix.tsx'
import { ReadOnlyWords } from './read-only.tsx'
import { TemplateState } from './template-words.tsx'
import { Versions } from './versions.tsx'

/** One template: its words and what they become, its versions, and its siblings in other languages and channels. */
export function Template() {
  const { id } = useParams({ from: '/shell/templates/$id' })
  const { tab } = useSearch({ from: '/shell/templates/$id' })
  const navigate = useNavigate({ from: '/templates/$id' })
  const scope = useScope()
  const canConfigure = useCanConfigure()
  const catalogue = useCatalogue(scope)
  const { data, error, refetch } = useQuery({
    queryKey: ['live', 'template', id, scope.tenantId],
    queryFn: () => get<TemplateOf>(`/api/message-templates/${encodeURIComponent(id)}`, scope.query),
    enabled: scope.tenantId !== null,
    refetchInterval: 15_000,
  })
  if (!data || !catalogue.data) return error ? <Trouble error={error} retry={() => void refetch()} /> : <Loading />
  const eventType = catalogue.data.items.find(({ name }) => name === data.eventType) ?? null
  return (
    <Stack gap="md">
      <Text size="sm">
        <Link to="/templates">Templates</Link>
      </Text>
      <div>
        <Title order={1} style={{ overflowWrap: 'anywhere' }}>
          {data.eventType} · {channelWord(data.channel)} · {data.locale}
          {data.scopeType !== null && ` · ${data.scopeType} ${data.scopeId}`}
        </Title>
        <Group gap="md" mt={4}>
          <TemplateState template={data} />
          <Text c="dimmed">
            version {data.version}, changed <When at={data.updatedAt} /> by {data.updatedBy}
          </Text>
        </Group>
      </div>
      {data.warnings.length > 0 && (
        <Alert color="orange" variant="outline" title="Probably not meant">
          {data.warnings.map(({ message }) => (
            <div key={message}>{message}</div>
          ))}
        </Alert>
      )}
      <SegmentedControl
        size="xs"
        aria-label="Show"
        value={tab === 'versions' ? 'versions' : 'words'}
        data={[
          { value: 'words', label: 'Words' },
          { value: 'versions', label: 'Versions' },
        ]}
        onChange={(value) =>
          void navigate({ search: (old) => ({ ...old, tab: value === 'versions' ? value : undefined, v: undefined }) })
        }
        style={{ alignSelf: 'start' }}
      />
      {tab === 'versions' ? (
        <Versions template={data} scope={scope} />
      ) : canConfigure ? (
        <Editing key={data.id} template={data} eventType={eventType} scope={scope} />
      ) : (
        <ReadOnlyWords template={data} />
      )}
      <Matrix type={data.eventType} eventType={eventType} scope={scope} currentId={data.id} />
    </Stack>
  )
}
