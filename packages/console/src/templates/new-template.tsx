import './templates.css'
import { Button, Group, NativeSelect, Stack, Text, TextInput, Title } from '@mantine/core'
import type { Channel, EventType, Template } from '@pillarbox/client'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError, call } from '../app/api.ts'
import { type Catalogue, useCatalogue } from '../app/event-types.ts'
import { type Scope, useCanConfigure, useScope } from '../app/session.ts'
import { useTenant } from '../app/tenant.ts'
import { Blank, Loading, Trouble } from '../parts/blank.tsx'
import { Refusal } from '../parts/refusal.tsx'
import { CHANNEL_NAMES, channelWord } from '../parts/to.tsx'
import { Editor, useSample } from './editor.tsx'
import { EMPTY, wordsOf } from './words.ts'

/** Words for an event type on a channel in a language that has none yet. */
export function NewTemplate() {
  const scope = useScope()
  const canConfigure = useCanConfigure()
  const { data: tenant } = useTenant(scope)
  const catalogue = useCatalogue(scope)
  if (!canConfigure) return <Blank title="Writing templates needs an admin’s key" />
  if (!catalogue.data || !tenant)
    return catalogue.error ? <Trouble error={catalogue.error} retry={() => void catalogue.refetch()} /> : <Loading />
  if (catalogue.data.items.length === 0)
    return (
      <Blank title="There is no event type yet">
        Words are for events: <Link to="/catalogue">import a catalogue</Link> first.
      </Blank>
    )
  return <Writing catalogue={catalogue.data} defaultLocale={tenant.defaultLocale} scope={scope} />
}

function Writing({ catalogue, defaultLocale, scope }: { catalogue: Catalogue; defaultLocale: string; scope: Scope }) {
  const asked = useSearch({ from: '/shell/templates/new' })
  const navigate = useNavigate({ from: '/templates/new' })
  const queries = useQueryClient()
  const [draft, setDraft] = useState(EMPTY)
  const type = asked.eventType ?? catalogue.items[0]?.name ?? ''
  const eventType: EventType | null = catalogue.items.find(({ name }) => name === type) ?? null
  const channel = (asked.channel ?? 'email') as Channel
  const locale = asked.locale ?? defaultLocale
  const [sample, setSample] = useSample(eventType)
  const set = (changes: Partial<typeof asked>): void =>
    void navigate({ search: (old) => ({ ...old, ...changes }), replace: true })
  const make = useMutation({
    mutationFn: () => {
      const read = wordsOf(draft)
      if ('problem' in read) throw new ApiError(0, { detail: read.problem })
      return call<Template>('POST', '/api/message-templates', scope.query, {
        eventType: type,
        channel,
        locale,
        ...read.words,
      })
    },
    onSuccess: async ({ id }) => {
      await queries.invalidateQueries({ queryKey: ['live'] })
      await navigate({ to: '/templates/$id', params: { id } })
    },
  })
  return (
    <Stack gap="md">
      <Text size="sm">
        <Link to="/templates">Templates</Link>
      </Text>
      <Group justify="space-between">
        <Title order={1}>A new template</Title>
        <Button size="xs" disabled={draft.body === ''} loading={make.isPending} onClick={() => make.mutate()}>
          Save
        </Button>
      </Group>
      <Refusal error={make.error} title="It was not saved" />
      <Group gap="xs" align="end">
        <NativeSelect
          label="Event type"
          value={type}
          data={catalogue.items.map(({ name }) => name)}
          onChange={({ currentTarget }) => set({ eventType: currentTarget.value })}
        />
        <NativeSelect
          label="Channel"
          value={channel}
          data={CHANNEL_NAMES.map((name) => ({ value: name, label: channelWord(name) }))}
          onChange={({ currentTarget }) => set({ channel: currentTarget.value })}
        />
        <TextInput
          label="Locale"
          value={locale}
          onChange={({ currentTarget }) => set({ locale: currentTarget.value || undefined })}
          w={110}
        />
      </Group>
      <Editor
        channel={channel}
        locale={locale}
        type={type}
        eventType={eventType}
        scope={scope}
        draft={draft}
        change={setDraft}
        sample={sample}
        changeSample={setSample}
      />
    </Stack>
  )
}
