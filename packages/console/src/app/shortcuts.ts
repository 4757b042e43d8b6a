import { useNavigate } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { preference } from './preferences.ts'
import { SCREENS } from './screens.tsx'

/** How long after `g` its letter may come. */
const PAIR_MS = 1_200

/** Keys that go somewhere. None of them sends or removes anything. */
export function useShortcuts({ seek, help }: { seek: () => void; help: () => void }): void {
  const navigate = useNavigate()
  const acts = useRef({ seek, help })
  acts.current = { seek, help }

  useEffect(() => {
    // Times count from when the page was opened: none is so early that a first key could seem to follow a `g`.
    let goAt = Number.NEGATIVE_INFINITY
    function onKey(event: KeyboardEvent): void {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        acts.current.seek()
        return
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return
      if (preference('keys') === 'off') return
      const screen = event.timeStamp - goAt < PAIR_MS ? SCREENS.find(({ key }) => key === event.key) : undefined
      goAt = event.key === 'g' ? event.timeStamp : Number.NEGATIVE_INFINITY
      if (screen) void navigate({ to: screen.to })
      else if (event.key === '?') acts.current.help()
      else if (event.key === '/') focusFilter(event)
      else if (event.key === 'j' || event.key === 'k') moveInRows(event.key === 'j' ? 1 : -1)
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [navigate])
}

export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  return target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName) || isInDialog(target)
}

function isInDialog(target: HTMLElement): boolean {
  return target.closest('[role="dialog"]') !== null
}

function focusFilter(event: KeyboardEvent): void {
  const filter = document.querySelector<HTMLElement>('[data-filter]')
  if (!filter) return
  event.preventDefault()
  filter.focus()
}

/** The links of a list's rows, one after the other; Enter then opens. */
function moveInRows(step: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>('[data-row]')]
  const place = links.indexOf(document.activeElement as HTMLElement)
  links[Math.min(links.length - 1, Math.max(0, place + step))]?.focus()
}
