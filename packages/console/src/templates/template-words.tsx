import type { Template } from '@pillarbox/client'
import { type Look, Mark, SHAPES } from '../parts/mark.tsx'

const ACTIVE: Look = { tone: 'good', shape: SHAPES.tick, means: 'It is used.' }
const OFF: Look = { tone: 'calm', shape: SHAPES.dash, means: 'It is switched off: nothing is made from it.' }

export function TemplateState({ template: { isActive } }: { template: Template }) {
  return isActive ? <Mark look={ACTIVE} word="active" /> : <Mark look={OFF} word="off" />
}

const LOOK_AT: Look = { tone: 'warn', shape: SHAPES.hand, means: 'Something in it was probably not meant.' }

export function WarningCount({ template: { warnings } }: { template: Template }) {
  if (warnings.length === 0) return null
  return <Mark look={LOOK_AT} word={`${warnings.length} warning${warnings.length === 1 ? '' : 's'}`} />
}
