import { Badge, Button, Kbd, Menu, NativeSelect, Tooltip, useMantineColorScheme } from '@mantine/core'
import type { Session } from '@pillarbox/client'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { setZone, useZone } from '../parts/when.tsx'
import { call } from './api.ts'
import { type LiveState, useLive } from './live.ts'
import { useScope, useTenants } from './session.ts'

interface BarProps {
  session: Session
  seek: () => void
  help: () => void
}

/** Whose data it is, how fresh it is, and who looks at it. */
export function Bar({ session, seek, help }: BarProps) {
  const scope = useScope()
  const [isPaused, setPaused] = useState(false)
  const live = useLive(scope, isPaused)
  return (
    <section className="bar" aria-label="Tenant, updates and session">
      {session.tenantId === null ? (
        <TenantChoice chosen={scope.tenantId} />
      ) : (
        <Badge variant="default" size="lg" tt="none">
          {session.tenantId}
        </Badge>
      )}
      <Button variant="default" size="xs" onClick={seek} rightSection={<Kbd size="xs">Ctrl K</Kbd>}>
        Go to, or paste an id
      </Button>
      <span style={{ flex: 1 }} />
      <LivePill state={live} isPaused={isPaused} toggle={() => setPaused(!isPaused)} />
      <ZoneChoice />
      <SessionMenu session={session} help={help} />
    </section>
  )
}

function TenantChoice({ chosen }: { chosen: string | null }) {
  const { data } = useTenants(true)
  const navigate = useNavigate()
  const tenants = (data?.items ?? []).map(({ id, name }) => ({
    value: id,
    label: name === id ? id : `${name} (${id})`,
  }))
  return (
    <NativeSelect
      aria-label="Tenant"
      size="xs"
      value={chosen ?? ''}
      data={tenants}
      onChange={({ currentTarget }) => void navigate({ to: '/', search: { tenant: currentTarget.value } })}
    />
  )
}

const LIVE: Record<LiveState | 'paused', { word: string; says: string; sign: string }> = {
  live: {
    word: 'live',
    says: 'What you see changes as it happens. Press to hold it still.',
    sign: '●',
  },
  connecting: { word: 'connecting', says: 'Waiting for the server.', sign: '○' },
  stale: {
    word: 'stale',
    says: 'Nothing was heard for 30 seconds: what you see may be old.',
    sign: '▲',
  },
  paused: { word: 'paused', says: 'Held still. Press to go on.', sign: '❚❚' },
}

function LivePill({ state, isPaused, toggle }: { state: LiveState; isPaused: boolean; toggle: () => void }) {
  const { word, says, sign } = LIVE[isPaused ? 'paused' : state]
  const tone = isPaused || state === 'connecting' ? 'calm' : state === 'live' ? 'good' : 'warn'
  return (
    <Tooltip label={says} events={{ hover: true, focus: true, touch: true }}>
      <Button variant="default" size="xs" onClick={toggle} aria-label={`Updates: ${word}`}>
        <span style={{ color: `var(--pbx-${tone})` }}>
          {sign} {word}
        </span>
      </Button>
    </Tooltip>
  )
}

function ZoneChoice() {
  const zone = useZone()
  return (
    <NativeSelect
      aria-label="Time zone of times"
      size="xs"
      value={zone}
      data={[
        { value: 'local', label: Intl.DateTimeFormat().resolvedOptions().timeZone },
        { value: 'utc', label: 'UTC' },
      ]}
      onChange={({ currentTarget }) => setZone(currentTarget.value === 'utc' ? 'utc' : 'local')}
    />
  )
}

const THEMES = [
  ['auto', 'As the system'],
  ['light', 'Light'],
  ['dark', 'Dark'],
] as const

function SessionMenu({ session, help }: Pick<BarProps, 'session' | 'help'>) {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const queries = useQueryClient()
  const navigate = useNavigate()

  async function leave(everywhere: boolean): Promise<void> {
    await call('DELETE', '/api/session', everywhere ? { everywhere } : {}).catch(() => {})
    queries.clear()
    await navigate({ to: '/login' })
  }

  return (
    <Menu position="bottom-end" width={240}>
      <Menu.Target>
        <Button variant="default" size="xs">
          {session.name} · {session.role}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Theme</Menu.Label>
        {THEMES.map(([value, word]) => (
          <Menu.Item
            key={value}
            onClick={() => setColorScheme(value)}
            rightSection={colorScheme === value ? '✓' : null}
          >
            {word}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item onClick={help}>Keys</Menu.Item>
        <Menu.Item component="a" href="/docs">
          API
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item onClick={() => void leave(false)}>Sign out</Menu.Item>
        <Menu.Item onClick={() => void leave(true)}>Sign out everywhere</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
