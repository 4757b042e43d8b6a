import type { Operation } from '@pillarbox/client'
import { type Look, Mark, SHAPES } from '../parts/mark.tsx'

type OperationStatus = Operation['status']

const LOOKS: Record<OperationStatus, Look & { word: string }> = {
  grace: { word: 'waits', tone: 'warn', shape: SHAPES.clock, means: 'Nothing is done yet: it can be undone.' },
  canary: {
    word: 'trying a few',
    tone: 'busy',
    shape: SHAPES.few,
    means: 'The first few are done. The rest follows once they are sent.',
  },
  running: { word: 'running', tone: 'busy', shape: SHAPES.half, means: 'The rest is being done.' },
  paused: { word: 'paused', tone: 'warn', shape: SHAPES.pause, means: 'Nothing moves until somebody resumes it.' },
  done: { word: 'done', tone: 'good', shape: SHAPES.tick, means: 'Every notification has its outcome.' },
  failed: {
    word: 'failed',
    tone: 'bad',
    shape: SHAPES.cross,
    means: 'One of the first few stopped; the rest is as it was.',
  },
  cancelled: { word: 'cancelled', tone: 'calm', shape: SHAPES.dash, means: 'Somebody stopped it.' },
}

export const OPERATION_STATUSES = Object.keys(LOOKS) as OperationStatus[]

export function operationWord(status: OperationStatus): string {
  return LOOKS[status].word
}

export function operationMeaning(status: OperationStatus): string {
  return LOOKS[status].means
}

export function OperationState({ status }: { status: OperationStatus }) {
  return <Mark look={LOOKS[status]} word={LOOKS[status].word} />
}

const OVER: readonly OperationStatus[] = ['done', 'failed', 'cancelled']

export function isOver({ status }: Operation): boolean {
  return OVER.includes(status)
}

export function actionWord({ action, options }: Operation): string {
  const word = action.slice(0, 1).toUpperCase() + action.slice(1)
  return options.rerender ? `${word} with today’s words` : word
}

/** How far it has come: as a bar, and as numbers. */
export function Progress({ operation }: { operation: Operation }) {
  const { total, done, leftAlone, failed } = operation
  const handled = done + leftAlone + failed
  const others = [leftAlone > 0 && `${number(leftAlone)} left alone`, failed > 0 && `${number(failed)} failed`]
  return (
    <span className="progress">
      <progress max={Math.max(1, total)} value={total === 0 ? 1 : handled} aria-label="How far it has come" />
      <span>
        {number(done)} of {number(total)}
        {others.filter(Boolean).map((each) => `, ${each}`)}
      </span>
    </span>
  )
}

function number(value: number): string {
  return value.toLocaleString('en')
}
