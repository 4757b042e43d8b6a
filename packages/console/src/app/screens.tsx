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
  { to: '/sandbox', name: 'Sandbox', key: 's' },
] as const

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
  s: <path d="M2 9l2-6h8l2 6v4.5H2zM2 9h3.5l1 2h3l1-2H14" />,
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
