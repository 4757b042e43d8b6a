import type { ReactNode } from 'react'

/** How something stands, told by a shape, a word and a colour, each of which says it alone. */
export interface Look {
  tone: Tone
  shape: ReactNode
  means: string
}

export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'calm'

const ring = <circle cx="8" cy="8" r="5.6" />
const square = <rect x="2.2" y="2.2" width="11.6" height="11.6" rx="1.5" />

/** Shapes that several kinds of things share. */
export const SHAPES = {
  ring,
  tick: <path d="M2.5 8.6l3 3L13 4.2" />,
  half: (
    <>
      {ring}
      <path d="M8 2.4a5.6 5.6 0 0 1 0 11.2z" fill="currentColor" />
    </>
  ),
  clock: (
    <>
      {ring}
      <path d="M8 4.8V8l2.2 1.6" />
    </>
  ),
  pause: (
    <>
      {square}
      <path d="M6.2 5.4v5.2M9.8 5.4v5.2" />
    </>
  ),
  cross: (
    <>
      <path d="M5.2 1.8h5.6l3.4 3.4v5.6l-3.4 3.4H5.2l-3.4-3.4V5.2z" />
      <path d="M5.8 5.8l4.4 4.4M10.2 5.8l-4.4 4.4" />
    </>
  ),
  dash: (
    <>
      {ring}
      <path d="M5 8h6" />
    </>
  ),
  hand: (
    <>
      <path d="M8 1.4L14.6 8 8 14.6 1.4 8z" />
      <path d="M8 4.8v4M8 11h.01" />
    </>
  ),
  few: (
    <>
      {ring}
      <circle cx="8" cy="8" r="1.8" fill="currentColor" />
    </>
  ),
} as const

/** `word` is what is read; `look` is how it is seen at a glance. Where there is no room the word is only heard, and pointed at. */
export function Mark({ look, word, isNarrow = false }: { look: Look; word: string; isNarrow?: boolean }) {
  return (
    <span className="state" style={{ color: `var(--pbx-${look.tone})` }} title={isNarrow ? word : look.means}>
      <svg
        width="16"
        height="16"
        viewBox="0 0 16 16"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.7"
        strokeLinecap="round"
        strokeLinejoin="round"
        aria-hidden="true"
      >
        {look.shape}
      </svg>
      {isNarrow ? <span className="unseen">{word}</span> : word}
    </span>
  )
}
