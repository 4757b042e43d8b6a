import { Kbd, Text } from '@mantine/core'
import { Link, Outlet, useNavigate, useRouterState } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { Blank, Loading, Trouble } from '../parts/blank.tsx'
import { FaultBanner } from '../sandbox/fault-banner.tsx'
import { ApiError } from './api.ts'
import { Bar } from './bar.tsx'
import { Help } from './help.tsx'
import mark from './mark.svg'
import { Palette } from './palette.tsx'
import { ScreenIcon, screensFor } from './screens.tsx'
import { useScope, useSession } from './session.ts'
import { useShortcuts } from './shortcuts.ts'

/** The frame around every screen. */
export function Shell() {
  const { data: session, error, refetch } = useSession()
  const { tenantId } = useScope()
  const [isSeeking, setSeeking] = useState(false)
  const [isHelping, setHelping] = useState(false)
  const navigate = useNavigate()
  const path = useRouterState({ select: ({ location }) => location.href })
  const isEmbedded = useRouterState({
    select: ({ location }) => location.pathname.startsWith('/entities/') && location.href.includes('embed=1'),
  })
  const isOut = error instanceof ApiError && error.status === 401

  useEffect(() => {
    if (isOut && !path.startsWith('/login')) void navigate({ to: '/login', search: path === '/' ? {} : { back: path } })
  }, [isOut, navigate, path])
  useShortcuts({ seek: () => setSeeking(true), help: () => setHelping(true) })

  if (error && !isOut && !session) return <Trouble error={error} retry={() => void refetch()} />
  if (!session) return <Loading />
  if (isEmbedded)
    return (
      <main id="screen">
        <Outlet />
      </main>
    )
  return (
    <div className="shell">
      <a className="skip-link" href="#screen">
        Skip to the page
      </a>
      <aside className="rail">
        <div className="brand">
          <img src={mark} alt="" /> Pillarbox
        </div>
        <Screens role={session.role} path={path} />
        <Text size="xs" c="dimmed" px={10} pt="lg" visibleFrom="md">
          <Kbd size="xs">?</Kbd> keys
        </Text>
      </aside>
      <div>
        <Bar session={session} seek={() => setSeeking(true)} help={() => setHelping(true)} />
        <FaultBanner />
        <main id="screen" tabIndex={-1}>
          {tenantId === null && session.tenantId === null ? <NoTenant /> : <Outlet />}
        </main>
      </div>
      {isSeeking && <Palette close={() => setSeeking(false)} />}
      {isHelping && <Help close={() => setHelping(false)} />}
    </div>
  )
}

/** On a phone they are a row that is wider than the screen, where the one that is open is kept in sight. */
function Screens({ role, path }: { role: string; path: string }) {
  const row = useRef<HTMLElement>(null)
  useEffect(() => {
    if (path)
      row.current?.querySelector('[aria-current="page"]')?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [path])
  return (
    <nav aria-label="Screens" ref={row}>
      {screensFor(role).map(({ to, name, key }) => (
        <Link
          key={to}
          to={to}
          activeOptions={{ exact: to === '/', includeSearch: false }}
          activeProps={{ 'aria-current': 'page' }}
        >
          <ScreenIcon of={key} />
          {name}
        </Link>
      ))}
    </nav>
  )
}

function NoTenant() {
  return (
    <Blank title="There is no tenant yet">
      Make one with <span className="mono">POST /ops/tenants</span>, or start the server with its demonstration tenant (
      <span className="mono">--demo</span>).
    </Blank>
  )
}
