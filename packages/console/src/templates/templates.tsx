import './templates.css'
import { Button, Group, NativeSelect, Stack, TextInput, Title } from '@mantine/core'
import type { Template } from '@pillarbox/client'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useCatalogue } from '../app/event-types.ts'
import { useCanConfigure, useScope } from '../app/session.ts'
import { Blank } from '../parts/blank.tsx'
import { Heads } from '../parts/heads.tsx'
import { PagedList, usePaged } from '../parts/paged.tsx'
import { CHANNEL_NAMES, channelWord } from '../parts/to.tsx'
import { When } from '../parts/when.tsx'
import { TemplateState, WarningCount } from './template-words.tsx'

/** The words, by event type, channel, language and scope. */
export function Templates() {
  const scope = useScope()
  const search = useSearch({ from: '/shell/templates' })
  const { eventType, channel, locale, isActive } = search
  const navigate = useNavigate({ from: '/templates' })
  const canConfigure = useCanConfigure()
  const { data: catalogue } = useCatalogue(scope)
  const list = usePaged<Template>('/api/message-templates', scope, { eventType, channel, locale, isActive })
  const narrow = (changes: Partial<typeof search>): void =>
    void navigate({ search: (old) => ({ ...old, ...changes }), replace: true })
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <Title order={1}>Templates</Title>
        {canConfigure && (
          <Button
            size="xs"
            renderRoot={(props) => <Link to="/templates/new" search={{ eventType, channel }} {...props} />}
          >
            Write one
          </Button>
        )}
      </Group>
      <Group gap="xs" align="end" role="search">
        <NativeSelect
          label="Event type"
          value={eventType ?? ''}
          data={[{ value: '', label: 'any' }, ...(catalogue?.items ?? []).map(({ name }) => name)]}
          onChange={({ currentTarget }) => narrow({ eventType: currentTarget.value || undefined })}
          data-filter=""
        />
        <NativeSelect
          label="Channel"
          value={channel ?? ''}
          data={[
            { value: '', label: 'any' },
            ...CHANNEL_NAMES.map((name) => ({ value: name, label: channelWord(name) })),
          ]}
          onChange={({ currentTarget }) => narrow({ channel: currentTarget.value || undefined })}
        />
        <TextInput
          label="Locale"
          placeholder="de-DE"
          defaultValue={locale ?? ''}
          key={locale ?? ''}
          w={110}
          onBlur={({ currentTarget }) => narrow({ locale: currentTarget.value.trim() || undefined })}
          onKeyDown={({ key, currentTarget }) => key === 'Enter' && currentTarget.blur()}
        />
        <NativeSelect
          label="State"
          value={isActive ?? ''}
          data={[
            { value: '', label: 'any' },
            { value: 'true', label: 'active' },
            { value: 'false', label: 'off' },
          ]}
          onChange={({ currentTarget }) => narrow({ isActive: currentTarget.value || undefined })}
        />
      </Group>
      <section className="panel" aria-label="Found">
        <PagedList
          list={list}
          word="More"
          blank={
            <Blank title={eventType || channel || locale || isActive ? 'None match' : 'No words yet'}>
              A template is what an event of one type says on one channel in one language. Templates come with a
              catalogue, or are written here.
            </Blank>
          }
        >
          {(templates) => <TemplateTable templates={templates} />}
        </PagedList>
      </section>
    </Stack>
  )
}

function TemplateTable({ templates }: { templates: readonly Template[] }) {
  return (
    <table className="rows cards">
      <Heads names={['event type', 'channel', 'locale', 'says', 'state', 'version', 'changed']} />
      <tbody>
        {templates.map((template) => (
          <tr key={template.id}>
            <td data-wide="">
              <Link to="/templates/$id" params={{ id: template.id }} data-row="">
                {template.eventType}
              </Link>
            </td>
            <td>{channelWord(template.channel)}</td>
            <td>
              {template.locale}
              {template.scopeType !== null && ` for ${template.scopeType} ${template.scopeId}`}
            </td>
            <td data-wide="">
              <span className="clip">{template.subject ?? template.body.slice(0, 120)}</span>
            </td>
            <td>
              <Group gap="sm">
                <TemplateState template={template} />
                <WarningCount template={template} />
              </Group>
            </td>
            <td data-label="version">{template.version}</td>
            <td>
              <When at={template.updatedAt} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
