import { Kbd, Modal, Text, TextInput, UnstyledButton } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, useState } from 'react'
import { STATUSES } from '../parts/state.tsx'
import { SCREENS } from './screens.tsx'

interface Target {
  name: string
  hint: string
  href: string
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Where what was typed may lead to: a screen, a state, or whatever has this id. */
function targetsFor(text: string): Target[] {
  const wanted = text.trim()
  const known: Target[] = [
    ...SCREENS.map(({ to, name, key }) => ({ name, hint: `g ${key}`, href: to })),
    ...STATUSES.map((status) => ({
      name: `Notifications: ${status}`,
      hint: 'state',
      href: `/notifications?status=${status}`,
    })),
    { name: 'Notifications by cause', hint: 'group', href: '/notifications?group=cause' },
  ]
  const found = known.filter(({ name }) => name.toLowerCase().includes(wanted.toLowerCase()))
  if (wanted === '') return found
  const part = encodeURIComponent(wanted)
  const [, type, id] = /^([\w-]+)[ :]\s*(\S+)$/.exec(wanted) ?? []
  const things: Target[] = [
    ...(type && id
      ? [{ name: `All about ${type} ${id}`, hint: 'entity', href: `/entities/${type}/${encodeURIComponent(id)}` }]
      : []),
    ...(UUID.test(wanted) ? [{ name: `Notification ${wanted}`, hint: 'open', href: `/notifications/${part}` }] : []),
    { name: `Find “${wanted}” among notifications`, hint: 'id, key or address', href: `/notifications?q=${part}` },
    { name: `Event ${wanted}`, hint: 'open', href: `/events/${part}` },
  ]
  return UUID.test(wanted) ? [...things, ...found] : [...found, ...things]
}

const MOST_SHOWN = 9

export function Palette({ close }: { close: () => void }) {
  const [text, setText] = useState('')
  const [place, setPlace] = useState(0)
  const navigate = useNavigate()
  const targets = targetsFor(text).slice(0, MOST_SHOWN)

  function go(target: Target | undefined): void {
    if (!target) return
    close()
    void navigate({ href: target.href })
  }
  function onKey(event: KeyboardEvent): void {
    if (event.key === 'Enter') go(targets[place])
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step === 0) return
    event.preventDefault()
    setPlace(Math.min(targets.length - 1, Math.max(0, place + step)))
  }

  return (
    <Modal opened onClose={close} title="Go to" padding="sm" closeButtonProps={{ 'aria-label': 'Close' }}>
      <TextInput
        aria-label="Where to? A screen, a state, or an id"
        placeholder="A screen, a state, or paste an id"
        value={text}
        onChange={({ currentTarget }) => {
          setText(currentTarget.value)
          setPlace(0)
        }}
        onKeyDown={onKey}
        data-autofocus
        role="combobox"
        aria-expanded
        aria-controls="palette-targets"
        aria-activedescendant={`palette-${place}`}
      />
      <div id="palette-targets" role="listbox" aria-label="Places" style={{ marginTop: 8 }}>
        {targets.map((target, i) => (
          <UnstyledButton
            key={target.href}
            id={`palette-${i}`}
            role="option"
            aria-selected={i === place}
            tabIndex={-1}
            onClick={() => go(target)}
            style={{
              display: 'flex',
              width: '100%',
              padding: '8px 10px',
              borderRadius: 4,
              background: i === place ? 'var(--pbx-hover)' : undefined,
            }}
          >
            <Text style={{ flex: 1, overflowWrap: 'anywhere' }}>{target.name}</Text>
            <Kbd size="xs">{target.hint}</Kbd>
          </UnstyledButton>
        ))}
      </div>
    </Modal>
  )
}
