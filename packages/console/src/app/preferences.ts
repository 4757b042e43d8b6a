import { useSyncExternalStore } from 'react'

/** What somebody likes in their own browser, beside theme and time zone. */
interface Preferences {
  /** Keys of a single letter do something. */
  keys: 'on' | 'off'
  /** How close the lines of tables stand. */
  density: 'close' | 'wide'
}

const DEFAULTS: Preferences = { keys: 'on', density: 'close' }
const listeners = new Set<() => void>()

const keptAs = (name: keyof Preferences): string => `pillarbox.${name}`

export function preference<Name extends keyof Preferences>(name: Name): Preferences[Name] {
  return (localStorage.getItem(keptAs(name)) as Preferences[Name] | null) ?? DEFAULTS[name]
}

export function setPreference<Name extends keyof Preferences>(name: Name, value: Preferences[Name]): void {
  localStorage.setItem(keptAs(name), value)
  applyDensity()
  for (const listener of listeners) listener()
}

export function usePreference<Name extends keyof Preferences>(name: Name): Preferences[Name] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => preference(name),
  )
}

/** Before the first table is drawn, and whenever it is changed. */
export function applyDensity(): void {
  document.documentElement.dataset['density'] = preference('density')
}
