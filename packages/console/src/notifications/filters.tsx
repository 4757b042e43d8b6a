import { Button, Group, MultiSelect, NativeSelect, TextInput } from '@mantine/core'
import { useEffect, useState } from 'react'
import { STATUSES } from '../parts/state.tsx'
import { CHANNEL_NAMES, channelWord } from '../parts/to.tsx'
import { type Filter, isNarrowed, LAST_NAMES } from './filter.ts'

/** What the list is narrowed by. Every choice is in the address. */
export function Filters({ filter, narrow }: { filter: Filter; narrow: (changes: Filter) => void }) {
  const set = (name: keyof Filter, value: string): void => narrow({ [name]: value === '' ? undefined : value })
  return (
    <Group gap="xs" align="end" role="search">
      <Search value={filter.q ?? ''} search={(text) => set('q', text)} />
      <MultiSelect
        label="State"
        placeholder={filter.status ? '' : 'any'}
        data={STATUSES}
        value={filter.status?.split(',') ?? []}
        onChange={(values) => set('status', values.join(','))}
        clearable
        clearButtonProps={{ 'aria-label': 'Any state' }}
        miw={190}
        maw={420}
      />
      <NativeSelect
        label="Channel"
        value={filter.channel ?? ''}
        data={[
          { value: '', label: 'any' },
          ...CHANNEL_NAMES.map((name) => ({ value: name, label: channelWord(name) })),
        ]}
        onChange={({ currentTarget }) => set('channel', currentTarget.value)}
      />
      <NativeSelect
        label="Made"
        value={filter.last ?? ''}
        data={[
          { value: '', label: 'at any time' },
          ...LAST_NAMES.map((name) => ({ value: name, label: `in the last ${name}` })),
        ]}
        onChange={({ currentTarget }) => set('last', currentTarget.value)}
      />
      {(['eventType', 'eventId', 'accountId', 'fingerprint', 'stuck', 'stale'] as const).map(
        (name) =>
          filter[name] !== undefined && (
            <Button key={name} variant="light" size="sm" onClick={() => set(name, '')} rightSection="×">
              {WORDS[name]}
              {name === 'eventType' && `: ${filter[name]}`}
            </Button>
          ),
      )}
      {isNarrowed(filter) && (
        <Button
          variant="subtle"
          size="sm"
          onClick={() => narrow(Object.fromEntries(Object.keys(filter).map((name) => [name, undefined])))}
        >
          Clear
        </Button>
      )}
    </Group>
  )
}

const WORDS = {
  eventType: 'event type',
  eventId: 'one event',
  accountId: 'one account',
  fingerprint: 'one cause',
  stuck: 'stuck',
  stale: 'no receipt',
}

function Search({ value, search }: { value: string; search: (text: string) => void }) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        search(text.trim())
      }}
    >
      <TextInput
        label="Search"
        placeholder="id, key or address, whole"
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
        onBlur={() => text.trim() !== value && search(text.trim())}
        data-filter=""
        w={230}
      />
    </form>
  )
}
