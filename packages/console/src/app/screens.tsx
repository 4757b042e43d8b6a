import type { ReactNode } from 'react'

/** The screens there are, each with the letter that follows `g`. */
export const SCREENS = [
  { to: '/', name: 'Overview', key: 'o' },
  { to: '/notifications', name: 'Notifications', key: 'n' },
  { to: '/events', name: 'Events', key: 'e' },
  { to: '/schedules', name: 'Schedules', key: 'd' },
  { to: '/operations', name: 'Operations', key: 'p' },
  { to: '/templates', name: 'Templates', key: 't' },
  { to: '/catalogue', name: 'Catalogue', key: 'y' },
  { to: '/accounts', name: 'Accounts', key: 'a' },
  { to: '/contacts', name: 'People', key: 'c' },
  { to: '/lists', name: 'Lists', key: 'l' },
  { to: '/sandbox', name: 'Sandbox', key: 's' },
  { to: '/audit', name: 'Audit', key: 'u' },
  { to: '/keys', name: 'Keys', key: 'k' },
  { to: '/workers', name: 'Workers', key: 'w' },
  { to: '/settings', name: 'Settings', key: ',' },
] as const

/** What only some may look at: it is left out for the others. */
const ONLY_FOR: Partial<Record<string, readonly string[]>> = { '/keys': ['admin', 'ops'], '/workers': ['ops'] }

export function screensFor(role: string) {
  return SCREENS.filter(({ to }) => ONLY_FOR[to]?.includes(role) ?? true)
}

type ScreenKey = (typeof SCREENS)[number]['key']

const ICONS: Record<ScreenKey, ReactNode> = {
  o: <path d="M2 9h4v5H2zM6 5h4v9H6zM10 2h4v12h-4z" />,
  n: <path d="M1.5 3.5h13v9h-13zM2 4l6 5 6-5" />,
  e: <path d="M9 1L3 9h4l-1 6 7-8H9z" />,
  d: <path d="M2 3.5h12v10.5H2zM2 6.5h12M5 1.8v3M11 1.8v3M5 9.5h2M9 9.5h2" />,
  p: <path d="M2 4h8M2 8h12M2 12h5M12 2.5v3M9 10.5v3" />,
  t: <path d="M2.5 3h11M8 3v10.5M5.5 13.5h5M2.5 3v2M13.5 3v2" />,
  y: <path d="M3 2h8.5l1.5 1.5V14H3zM5.5 5.5h5M5.5 8h5M5.5 10.5h3" />,
  a: <path d="M2 5.5h12v8H2zM5 5.5v-3h6v3M6 9.5h4" />,
  c: <path d="M8 8.2a2.7 2.7 0 1 0 0-5.4 2.7 2.7 0 0 0 0 5.4zM2.8 14c.5-3 2.5-4.3 5.2-4.3s4.7 1.3 5.2 4.3" />,
  l: <path d="M2 4h.01M2 8h.01M2 12h.01M5 4h9M5 8h9M5 12h9" />,
  s: <path d="M2 9l2-6h8l2 6v4.5H2zM2 9h3.5l1 2h3l1-2H14" />,
  u: <path d="M3.5 1.5h6l3 3v10h-9zM6 7h4M6 10h4" />,
  k: <path d="M5 11.2a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4zM8 8h6.5v2.5M12 8v2" />,
  w: <path d="M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01" />,
  ',': (
    <path d="M2 4.5h6M11 4.5h3M2 11.5h3M8 11.5h6M9.5 6.3a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6zM6.5 13.3a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6z" />
  ),
}

export function ScreenIcon({ of }: { of: ScreenKey }) {
  return (
    <svg
      width="16"
      height="16"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {ICONS[of]}
    </svg>
  )
}
